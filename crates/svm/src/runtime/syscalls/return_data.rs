//! Return data.

use selkie_vm::SyscallError as Error;

use super::{Call, guest::Output};
use crate::{
    chain::{
        cost::{self, RETURN_DATA_BYTES_MAX},
        error::SyscallError,
    },
    runtime::transaction_accounts::ReturnData,
};

pub(super) fn set(call: &mut Call<'_, '_, '_>, [addr, len, ..]: [u64; 5]) -> Result<u64, Error> {
    if len > RETURN_DATA_BYTES_MAX {
        return Err(SyscallError::ReturnDataTooLarge { len, max: RETURN_DATA_BYTES_MAX }.into());
    }
    let data = call.memory.bytes(addr, len)?.to_vec();
    let program_id = call.context.instruction().program_id;
    call.context.return_data = ReturnData { program_id, data };
    Ok(0)
}

pub(super) fn get(
    call: &mut Call<'_, '_, '_>,
    [out, len, program_out, ..]: [u64; 5],
) -> Result<u64, Error> {
    let full_len = call.context.return_data.data.len() as u64;
    let len = len.min(full_len);
    if len > 0 {
        call.charge(cost::return_data(len))?;
        let outputs = [Output::bytes(out, len), Output::bytes(program_out, 32)];
        call.memory.check_outputs(call.context, &outputs)?;
        let ReturnData { program_id, data } = &call.context.return_data;
        let part = usize::try_from(len).ok().and_then(|len| data.get(..len));
        call.memory.write(out, part.unwrap_or_default())?;
        call.memory.write(program_out, program_id.as_ref())?;
    }
    Ok(full_len)
}
