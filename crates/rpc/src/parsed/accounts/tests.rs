use super::*;
use crate::token_amount::Scale;

fn parse_data(owner: Pubkey, key: Pubkey, data: &[u8], scale: Option<&Scale>) -> Option<Value> {
    parse(&Account { key: &key, owner: &owner, data, scale })
}

fn token_account(amount: u64) -> Vec<u8> {
    let [mint, owner] = [1, 2].map(|byte| Pubkey::new_from_array([byte; 32]));
    selkie_layout::token::TokenAccount::new(mint, owner, amount).bytes()
}

#[test]
fn a_token_account_is_shown_with_its_amount() {
    let scale = Scale::new(2);
    let shown =
        parse_data(ids::TOKEN, Pubkey::default(), &token_account(1050), Some(&scale)).unwrap();
    assert_eq!(shown["program"], "spl-token");
    assert_eq!(shown["space"], 165);
    assert_eq!(shown["parsed"]["type"], "account");
    assert_eq!(shown["parsed"]["info"]["tokenAmount"]["uiAmountString"], "10.5");
    assert_eq!(shown["parsed"]["info"]["isNative"], false);
    assert_eq!(shown["parsed"]["info"].get("delegate"), None);
}

#[test]
fn a_token_account_without_a_mint_is_not_shown() {
    assert_eq!(parse_data(ids::TOKEN, Pubkey::default(), &token_account(1), None), None);
}

#[test]
fn extensions_are_shown_by_name() {
    let mut data = vec![0; 165];
    data[36..44].copy_from_slice(&9_u64.to_le_bytes());
    data[45] = 1;
    data.push(1);
    // A close authority, and a transfer fee whose state is too short.
    data.extend_from_slice(&[3, 0, 32, 0]);
    data.extend_from_slice(&[0; 32]);
    data.extend_from_slice(&[1, 0, 2, 0, 7, 7]);
    let shown = parse_data(ids::TOKEN_2022, Pubkey::default(), &data, None).unwrap();
    assert_eq!(shown["program"], "spl-token-2022");
    assert_eq!(
        shown["parsed"]["info"]["extensions"],
        json!([
            { "extension": "mintCloseAuthority", "state": { "closeAuthority": null } },
            { "extension": "unparseableExtension" },
        ])
    );
}

#[test]
fn the_rent_is_one_number() {
    let shown = parse_data(
        sysvar::ID,
        sysvar::rent::ID,
        &[48, 27, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50],
        None,
    );
    assert_eq!(
        shown.unwrap()["parsed"],
        json!({ "info": { "lamportsPerByte": "6960" }, "type": "rent" })
    );
}

#[test]
fn wallets_are_not_nonces() {
    assert_eq!(parse_data(system_program::ID, Pubkey::default(), &[], None), None);
}

#[test]
fn a_program_names_its_data() {
    let mut data = vec![2, 0, 0, 0];
    data.extend_from_slice(&[3; 32]);
    let shown = parse_data(bpf_loader_upgradeable::ID, Pubkey::default(), &data, None).unwrap();
    assert_eq!(shown["parsed"]["type"], "program");
    let key = Pubkey::new_from_array([3; 32]).to_string();
    assert_eq!(shown["parsed"]["info"]["programData"], key);
}
