	.text
	.file	"clang_transfer.c"
	.file	0 "." "clang_transfer.c" md5 0x0ec784fcc04c4ed48488af9159f30325
	.globl	entrypoint                      # -- Begin function entrypoint
	.p2align	3
	.type	entrypoint,@function
entrypoint:                             # @entrypoint
.Lfunc_begin0:
	.loc	0 24 0                          # clang_transfer.c:24:0
	.cfi_sections .debug_frame
	.cfi_startproc
# %bb.0:
	#DEBUG_VALUE: entrypoint:input <- $r1
	r8 = r1
.Ltmp0:
.Ltmp1:
	#DEBUG_VALUE: entrypoint:input <- $r8
	r6 = 3
.Ltmp2:
	.loc	0 25 20 prologue_end            # clang_transfer.c:25:20
.Ltmp3:
.Ltmp4:
	r1 = *(u64 *)(r8 + 0)
.Ltmp5:
.Ltmp6:
	#DEBUG_VALUE: entrypoint:accounts <- $r1
	.loc	0 26 9                          # clang_transfer.c:26:9
.Ltmp7:
	if r1 != 0 goto LBB0_3
.Ltmp8:
.Ltmp9:
# %bb.1:
	#DEBUG_VALUE: entrypoint:accounts <- $r1
	#DEBUG_VALUE: entrypoint:input <- $r8
	.loc	0 0 9 is_stmt 0                 # clang_transfer.c:0:9
	r6 = 2
	.loc	0 28 18 is_stmt 1               # clang_transfer.c:28:18
.Ltmp10:
	r7 = *(u64 *)(r8 + 8)
.Ltmp11:
.Ltmp12:
	#DEBUG_VALUE: entrypoint:length <- $r7
	.loc	0 29 9                          # clang_transfer.c:29:9
.Ltmp13:
	if r7 s< 1 goto LBB0_3
.Ltmp14:
.Ltmp15:
# %bb.2:
	#DEBUG_VALUE: entrypoint:length <- $r7
	#DEBUG_VALUE: entrypoint:accounts <- $r1
	#DEBUG_VALUE: entrypoint:input <- $r8
	.loc	0 31 5                          # clang_transfer.c:31:5
.Ltmp16:
	r1 = GREETING ll
.Ltmp17:
.Ltmp18:
	r2 = 27
	call sol_log_
.Ltmp19:
	.loc	0 32 27                         # clang_transfer.c:32:27
.Ltmp20:
	r1 = r8
	r1 += 16
	.loc	0 32 15 is_stmt 0               # clang_transfer.c:32:15
.Ltmp21:
	r2 = r7
	call weigh
.Ltmp22:
	r6 = r0
.Ltmp23:
.Ltmp24:
	#DEBUG_VALUE: entrypoint:sum <- $r6
	.loc	0 33 49 is_stmt 1               # clang_transfer.c:33:49
.Ltmp25:
	r2 = *(u8 *)(r8 + 16)
	r2 <<= 56
	r2 s>>= 56
	.loc	0 33 22 is_stmt 0               # clang_transfer.c:33:22
.Ltmp26:
	r1 = r6
	call mix
.Ltmp27:
	r0 <<= 32
	r0 >>= 32
	.loc	0 33 61                         # clang_transfer.c:33:61
.Ltmp28:
	r3 = r6
	r3 = be32 r3
	.loc	0 33 90                         # clang_transfer.c:33:90
.Ltmp29:
	r4 = r6
	r4 = -r4
	.loc	0 33 5                          # clang_transfer.c:33:5
.Ltmp30:
	r1 = r6
	r2 = r0
	r5 = r7
	call sol_log_64_
.Ltmp31:
	.loc	0 34 12 is_stmt 1               # clang_transfer.c:34:12
.Ltmp32:
	r1 = r6
	r1 /= 7
	r1 *= 7
	r6 -= r1
.Ltmp33:
.Ltmp34:
LBB0_3:
	#DEBUG_VALUE: entrypoint:input <- $r8
	.loc	0 35 1                          # clang_transfer.c:35:1
.Ltmp35:
	r0 = r6
	exit
.Ltmp36:
.Ltmp37:
.Lfunc_end0:
	.size	entrypoint, .Lfunc_end0-entrypoint
	.cfi_endproc
                                        # -- End function
	.p2align	3                               # -- Begin function weigh
	.type	weigh,@function
weigh:                                  # @weigh
.Lfunc_begin1:
	.loc	0 13 0                          # clang_transfer.c:13:0
	.cfi_startproc
# %bb.0:
	#DEBUG_VALUE: weigh:data <- $r1
	#DEBUG_VALUE: weigh:length <- $r2
	#DEBUG_VALUE: weigh:sum <- 0
	#DEBUG_VALUE: i <- 0
	r0 = 0
.Ltmp38:
	.loc	0 15 5 prologue_end             # clang_transfer.c:15:5
.Ltmp39:
.Ltmp40:
	if r2 == 0 goto LBB1_3
.Ltmp41:
.Ltmp42:
# %bb.1:
	#DEBUG_VALUE: i <- 0
	#DEBUG_VALUE: weigh:sum <- 0
	#DEBUG_VALUE: weigh:length <- $r2
	#DEBUG_VALUE: weigh:data <- $r1
	.loc	0 0 5 is_stmt 0                 # clang_transfer.c:0:5
	r3 = 0
	r4 = 0
.Ltmp43:
.Ltmp44:
LBB1_2:                                 # =>This Inner Loop Header: Depth=1
	#DEBUG_VALUE: weigh:length <- $r2
	#DEBUG_VALUE: weigh:data <- $r1
	#DEBUG_VALUE: weigh:sum <- $r4
	#DEBUG_VALUE: i <- $r3
	.loc	0 16 26 is_stmt 1               # clang_transfer.c:16:26
.Ltmp45:
	r5 = r3
	r5 &= 3
	.loc	0 16 16 is_stmt 0               # clang_transfer.c:16:16
.Ltmp46:
	r5 <<= 3
	r0 = WEIGHTS ll
	r0 += r5
	.loc	0 16 33                         # clang_transfer.c:16:33
.Ltmp47:
	r5 = r1
	r5 += r3
	r5 = *(u8 *)(r5 + 0)
	.loc	0 16 16                         # clang_transfer.c:16:16
.Ltmp48:
	r0 = *(u64 *)(r0 + 0)
	.loc	0 16 31                         # clang_transfer.c:16:31
.Ltmp49:
	r0 *= r5
	.loc	0 16 13                         # clang_transfer.c:16:13
.Ltmp50:
	r0 += r4
.Ltmp51:
.Ltmp52:
	#DEBUG_VALUE: weigh:sum <- $r0
	.loc	0 15 34 is_stmt 1               # clang_transfer.c:15:34
.Ltmp53:
	r3 += 1
.Ltmp54:
.Ltmp55:
	#DEBUG_VALUE: i <- $r3
	.loc	0 0 34 is_stmt 0                # clang_transfer.c:0:34
	r4 = r0
.Ltmp56:
.Ltmp57:
	.loc	0 15 5                          # clang_transfer.c:15:5
.Ltmp58:
	if r3 < r2 goto LBB1_2
.Ltmp59:
.Ltmp60:
LBB1_3:
	#DEBUG_VALUE: weigh:length <- $r2
	#DEBUG_VALUE: weigh:data <- $r1
	.loc	0 17 5 is_stmt 1                # clang_transfer.c:17:5
.Ltmp61:
	exit
.Ltmp62:
.Ltmp63:
.Lfunc_end1:
	.size	weigh, .Lfunc_end1-weigh
	.cfi_endproc
                                        # -- End function
	.p2align	3                               # -- Begin function mix
	.type	mix,@function
mix:                                    # @mix
.Lfunc_begin2:
	.loc	0 20 0                          # clang_transfer.c:20:0
	.cfi_startproc
# %bb.0:
	#DEBUG_VALUE: mix:a <- $r1
	#DEBUG_VALUE: mix:b <- $r2
	r0 = r1
.Ltmp64:
.Ltmp65:
	#DEBUG_VALUE: mix:a <- $r0
	.loc	0 21 31 prologue_end            # clang_transfer.c:21:31
.Ltmp66:
	r2 s>>= 1
.Ltmp67:
.Ltmp68:
	.loc	0 21 15 is_stmt 0               # clang_transfer.c:21:15
.Ltmp69:
	r0 <<= 3
.Ltmp70:
.Ltmp71:
	.loc	0 21 21                         # clang_transfer.c:21:21
.Ltmp72:
	r0 ^= r2
	.loc	0 21 5                          # clang_transfer.c:21:5
.Ltmp73:
	exit
.Ltmp74:
.Ltmp75:
.Lfunc_end2:
	.size	mix, .Lfunc_end2-mix
	.cfi_endproc
                                        # -- End function
	.type	GREETING,@object                # @GREETING
	.section	.rodata,"a",@progbits
GREETING:
	.asciz	"sum of the instruction data"
	.size	GREETING, 28

	.type	WEIGHTS,@object                 # @WEIGHTS
	.section	.rodata.cst32,"aM",@progbits,32
	.p2align	3
WEIGHTS:
	.quad	1                               # 0x1
	.quad	10                              # 0xa
	.quad	100                             # 0x64
	.quad	1000                            # 0x3e8
	.size	WEIGHTS, 32

	.section	.debug_loclists,"",@progbits
	.long	.Ldebug_list_header_end0-.Ldebug_list_header_start0 # Length
.Ldebug_list_header_start0:
	.short	5                               # Version
	.byte	8                               # Address size
	.byte	0                               # Segment selector size
	.long	8                               # Offset entry count
.Lloclists_table_base0:
	.long	.Ldebug_loc0-.Lloclists_table_base0
	.long	.Ldebug_loc1-.Lloclists_table_base0
	.long	.Ldebug_loc2-.Lloclists_table_base0
	.long	.Ldebug_loc3-.Lloclists_table_base0
	.long	.Ldebug_loc4-.Lloclists_table_base0
	.long	.Ldebug_loc5-.Lloclists_table_base0
	.long	.Ldebug_loc6-.Lloclists_table_base0
	.long	.Ldebug_loc7-.Lloclists_table_base0
.Ldebug_loc0:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Lfunc_begin0-.Lfunc_begin0    #   starting offset
	.uleb128 .Ltmp0-.Lfunc_begin0           #   ending offset
	.byte	1                               # Loc expr size
	.byte	81                              # DW_OP_reg1
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp0-.Lfunc_begin0           #   starting offset
	.uleb128 .Lfunc_end0-.Lfunc_begin0      #   ending offset
	.byte	1                               # Loc expr size
	.byte	88                              # DW_OP_reg8
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_loc1:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp5-.Lfunc_begin0           #   starting offset
	.uleb128 .Ltmp17-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	81                              # DW_OP_reg1
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_loc2:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp11-.Lfunc_begin0          #   starting offset
	.uleb128 .Ltmp33-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	87                              # DW_OP_reg7
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_loc3:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp23-.Lfunc_begin0          #   starting offset
	.uleb128 .Ltmp33-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	86                              # DW_OP_reg6
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_loc4:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Lfunc_begin1-.Lfunc_begin0    #   starting offset
	.uleb128 .Ltmp43-.Lfunc_begin0          #   ending offset
	.byte	2                               # Loc expr size
	.byte	48                              # DW_OP_lit0
	.byte	159                             # DW_OP_stack_value
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp43-.Lfunc_begin0          #   starting offset
	.uleb128 .Ltmp51-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	84                              # DW_OP_reg4
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp51-.Lfunc_begin0          #   starting offset
	.uleb128 .Ltmp59-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	80                              # DW_OP_reg0
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_loc5:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Lfunc_begin1-.Lfunc_begin0    #   starting offset
	.uleb128 .Ltmp43-.Lfunc_begin0          #   ending offset
	.byte	2                               # Loc expr size
	.byte	48                              # DW_OP_lit0
	.byte	159                             # DW_OP_stack_value
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp43-.Lfunc_begin0          #   starting offset
	.uleb128 .Ltmp59-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	83                              # DW_OP_reg3
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_loc6:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Lfunc_begin2-.Lfunc_begin0    #   starting offset
	.uleb128 .Ltmp64-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	81                              # DW_OP_reg1
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Ltmp64-.Lfunc_begin0          #   starting offset
	.uleb128 .Ltmp70-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	80                              # DW_OP_reg0
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_loc7:
	.byte	4                               # DW_LLE_offset_pair
	.uleb128 .Lfunc_begin2-.Lfunc_begin0    #   starting offset
	.uleb128 .Ltmp67-.Lfunc_begin0          #   ending offset
	.byte	1                               # Loc expr size
	.byte	82                              # DW_OP_reg2
	.byte	0                               # DW_LLE_end_of_list
.Ldebug_list_header_end0:
	.section	.debug_abbrev,"",@progbits
	.byte	1                               # Abbreviation Code
	.byte	17                              # DW_TAG_compile_unit
	.byte	1                               # DW_CHILDREN_yes
	.byte	37                              # DW_AT_producer
	.byte	37                              # DW_FORM_strx1
	.byte	19                              # DW_AT_language
	.byte	5                               # DW_FORM_data2
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	114                             # DW_AT_str_offsets_base
	.byte	23                              # DW_FORM_sec_offset
	.byte	16                              # DW_AT_stmt_list
	.byte	23                              # DW_FORM_sec_offset
	.byte	27                              # DW_AT_comp_dir
	.byte	37                              # DW_FORM_strx1
	.byte	17                              # DW_AT_low_pc
	.byte	27                              # DW_FORM_addrx
	.byte	18                              # DW_AT_high_pc
	.byte	6                               # DW_FORM_data4
	.byte	115                             # DW_AT_addr_base
	.byte	23                              # DW_FORM_sec_offset
	.ascii	"\214\001"                      # DW_AT_loclists_base
	.byte	23                              # DW_FORM_sec_offset
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	2                               # Abbreviation Code
	.byte	52                              # DW_TAG_variable
	.byte	0                               # DW_CHILDREN_no
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	2                               # DW_AT_location
	.byte	24                              # DW_FORM_exprloc
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	3                               # Abbreviation Code
	.byte	1                               # DW_TAG_array_type
	.byte	1                               # DW_CHILDREN_yes
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	4                               # Abbreviation Code
	.byte	33                              # DW_TAG_subrange_type
	.byte	0                               # DW_CHILDREN_no
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	55                              # DW_AT_count
	.byte	11                              # DW_FORM_data1
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	5                               # Abbreviation Code
	.byte	38                              # DW_TAG_const_type
	.byte	0                               # DW_CHILDREN_no
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	6                               # Abbreviation Code
	.byte	36                              # DW_TAG_base_type
	.byte	0                               # DW_CHILDREN_no
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	62                              # DW_AT_encoding
	.byte	11                              # DW_FORM_data1
	.byte	11                              # DW_AT_byte_size
	.byte	11                              # DW_FORM_data1
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	7                               # Abbreviation Code
	.byte	36                              # DW_TAG_base_type
	.byte	0                               # DW_CHILDREN_no
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	11                              # DW_AT_byte_size
	.byte	11                              # DW_FORM_data1
	.byte	62                              # DW_AT_encoding
	.byte	11                              # DW_FORM_data1
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	8                               # Abbreviation Code
	.byte	22                              # DW_TAG_typedef
	.byte	0                               # DW_CHILDREN_no
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	9                               # Abbreviation Code
	.byte	15                              # DW_TAG_pointer_type
	.byte	0                               # DW_CHILDREN_no
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	10                              # Abbreviation Code
	.byte	46                              # DW_TAG_subprogram
	.byte	1                               # DW_CHILDREN_yes
	.byte	17                              # DW_AT_low_pc
	.byte	27                              # DW_FORM_addrx
	.byte	18                              # DW_AT_high_pc
	.byte	6                               # DW_FORM_data4
	.byte	64                              # DW_AT_frame_base
	.byte	24                              # DW_FORM_exprloc
	.byte	122                             # DW_AT_call_all_calls
	.byte	25                              # DW_FORM_flag_present
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	39                              # DW_AT_prototyped
	.byte	25                              # DW_FORM_flag_present
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	63                              # DW_AT_external
	.byte	25                              # DW_FORM_flag_present
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	11                              # Abbreviation Code
	.byte	5                               # DW_TAG_formal_parameter
	.byte	0                               # DW_CHILDREN_no
	.byte	2                               # DW_AT_location
	.byte	34                              # DW_FORM_loclistx
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	12                              # Abbreviation Code
	.byte	52                              # DW_TAG_variable
	.byte	0                               # DW_CHILDREN_no
	.byte	2                               # DW_AT_location
	.byte	34                              # DW_FORM_loclistx
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	13                              # Abbreviation Code
	.byte	72                              # DW_TAG_call_site
	.byte	0                               # DW_CHILDREN_no
	.byte	127                             # DW_AT_call_origin
	.byte	19                              # DW_FORM_ref4
	.byte	125                             # DW_AT_call_return_pc
	.byte	27                              # DW_FORM_addrx
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	14                              # Abbreviation Code
	.byte	46                              # DW_TAG_subprogram
	.byte	1                               # DW_CHILDREN_yes
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	39                              # DW_AT_prototyped
	.byte	25                              # DW_FORM_flag_present
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	60                              # DW_AT_declaration
	.byte	25                              # DW_FORM_flag_present
	.byte	63                              # DW_AT_external
	.byte	25                              # DW_FORM_flag_present
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	15                              # Abbreviation Code
	.byte	5                               # DW_TAG_formal_parameter
	.byte	0                               # DW_CHILDREN_no
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	16                              # Abbreviation Code
	.byte	46                              # DW_TAG_subprogram
	.byte	1                               # DW_CHILDREN_yes
	.byte	17                              # DW_AT_low_pc
	.byte	27                              # DW_FORM_addrx
	.byte	18                              # DW_AT_high_pc
	.byte	6                               # DW_FORM_data4
	.byte	64                              # DW_AT_frame_base
	.byte	24                              # DW_FORM_exprloc
	.byte	122                             # DW_AT_call_all_calls
	.byte	25                              # DW_FORM_flag_present
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	39                              # DW_AT_prototyped
	.byte	25                              # DW_FORM_flag_present
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	17                              # Abbreviation Code
	.byte	5                               # DW_TAG_formal_parameter
	.byte	0                               # DW_CHILDREN_no
	.byte	2                               # DW_AT_location
	.byte	24                              # DW_FORM_exprloc
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	73                              # DW_AT_type
	.byte	19                              # DW_FORM_ref4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	18                              # Abbreviation Code
	.byte	11                              # DW_TAG_lexical_block
	.byte	1                               # DW_CHILDREN_yes
	.byte	17                              # DW_AT_low_pc
	.byte	27                              # DW_FORM_addrx
	.byte	18                              # DW_AT_high_pc
	.byte	6                               # DW_FORM_data4
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	0                               # EOM(3)
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.long	.Ldebug_info_end0-.Ldebug_info_start0 # Length of Unit
.Ldebug_info_start0:
	.short	5                               # DWARF version number
	.byte	1                               # DWARF Unit Type
	.byte	8                               # Address Size (in bytes)
	.long	.debug_abbrev                   # Offset Into Abbrev. Section
	.byte	1                               # Abbrev [1] 0xc:0x17c DW_TAG_compile_unit
	.byte	0                               # DW_AT_producer
	.short	12                              # DW_AT_language
	.byte	1                               # DW_AT_name
	.long	.Lstr_offsets_base0             # DW_AT_str_offsets_base
	.long	.Lline_table_start0             # DW_AT_stmt_list
	.byte	2                               # DW_AT_comp_dir
	.byte	2                               # DW_AT_low_pc
	.long	.Lfunc_end2-.Lfunc_begin0       # DW_AT_high_pc
	.long	.Laddr_table_base0              # DW_AT_addr_base
	.long	.Lloclists_table_base0          # DW_AT_loclists_base
	.byte	2                               # Abbrev [2] 0x27:0xb DW_TAG_variable
	.byte	3                               # DW_AT_name
	.long	50                              # DW_AT_type
	.byte	0                               # DW_AT_decl_file
	.byte	10                              # DW_AT_decl_line
	.byte	2                               # DW_AT_location
	.byte	161
	.byte	0
	.byte	3                               # Abbrev [3] 0x32:0xc DW_TAG_array_type
	.long	62                              # DW_AT_type
	.byte	4                               # Abbrev [4] 0x37:0x6 DW_TAG_subrange_type
	.long	71                              # DW_AT_type
	.byte	28                              # DW_AT_count
	.byte	0                               # End Of Children Mark
	.byte	5                               # Abbrev [5] 0x3e:0x5 DW_TAG_const_type
	.long	67                              # DW_AT_type
	.byte	6                               # Abbrev [6] 0x43:0x4 DW_TAG_base_type
	.byte	4                               # DW_AT_name
	.byte	6                               # DW_AT_encoding
	.byte	1                               # DW_AT_byte_size
	.byte	7                               # Abbrev [7] 0x47:0x4 DW_TAG_base_type
	.byte	5                               # DW_AT_name
	.byte	8                               # DW_AT_byte_size
	.byte	7                               # DW_AT_encoding
	.byte	2                               # Abbrev [2] 0x4b:0xb DW_TAG_variable
	.byte	6                               # DW_AT_name
	.long	86                              # DW_AT_type
	.byte	0                               # DW_AT_decl_file
	.byte	11                              # DW_AT_decl_line
	.byte	2                               # DW_AT_location
	.byte	161
	.byte	1
	.byte	3                               # Abbrev [3] 0x56:0xc DW_TAG_array_type
	.long	98                              # DW_AT_type
	.byte	4                               # Abbrev [4] 0x5b:0x6 DW_TAG_subrange_type
	.long	71                              # DW_AT_type
	.byte	4                               # DW_AT_count
	.byte	0                               # End Of Children Mark
	.byte	5                               # Abbrev [5] 0x62:0x5 DW_TAG_const_type
	.long	103                             # DW_AT_type
	.byte	8                               # Abbrev [8] 0x67:0x8 DW_TAG_typedef
	.long	111                             # DW_AT_type
	.byte	8                               # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	5                               # DW_AT_decl_line
	.byte	6                               # Abbrev [6] 0x6f:0x4 DW_TAG_base_type
	.byte	7                               # DW_AT_name
	.byte	7                               # DW_AT_encoding
	.byte	8                               # DW_AT_byte_size
	.byte	9                               # Abbrev [9] 0x73:0x5 DW_TAG_pointer_type
	.long	98                              # DW_AT_type
	.byte	6                               # Abbrev [6] 0x78:0x4 DW_TAG_base_type
	.byte	9                               # DW_AT_name
	.byte	5                               # DW_AT_encoding
	.byte	8                               # DW_AT_byte_size
	.byte	8                               # Abbrev [8] 0x7c:0x8 DW_TAG_typedef
	.long	132                             # DW_AT_type
	.byte	11                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	4                               # DW_AT_decl_line
	.byte	6                               # Abbrev [6] 0x84:0x4 DW_TAG_base_type
	.byte	10                              # DW_AT_name
	.byte	7                               # DW_AT_encoding
	.byte	4                               # DW_AT_byte_size
	.byte	6                               # Abbrev [6] 0x88:0x4 DW_TAG_base_type
	.byte	12                              # DW_AT_name
	.byte	6                               # DW_AT_encoding
	.byte	1                               # DW_AT_byte_size
	.byte	10                              # Abbrev [10] 0x8c:0x4c DW_TAG_subprogram
	.byte	2                               # DW_AT_low_pc
	.long	.Lfunc_end0-.Lfunc_begin0       # DW_AT_high_pc
	.byte	1                               # DW_AT_frame_base
	.byte	90
                                        # DW_AT_call_all_calls
	.byte	15                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	24                              # DW_AT_decl_line
                                        # DW_AT_prototyped
	.long	103                             # DW_AT_type
                                        # DW_AT_external
	.byte	11                              # Abbrev [11] 0x9b:0x9 DW_TAG_formal_parameter
	.byte	0                               # DW_AT_location
	.byte	18                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	24                              # DW_AT_decl_line
	.long	369                             # DW_AT_type
	.byte	12                              # Abbrev [12] 0xa4:0x9 DW_TAG_variable
	.byte	1                               # DW_AT_location
	.byte	21                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	25                              # DW_AT_decl_line
	.long	103                             # DW_AT_type
	.byte	12                              # Abbrev [12] 0xad:0x9 DW_TAG_variable
	.byte	2                               # DW_AT_location
	.byte	22                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	28                              # DW_AT_decl_line
	.long	103                             # DW_AT_type
	.byte	12                              # Abbrev [12] 0xb6:0x9 DW_TAG_variable
	.byte	3                               # DW_AT_location
	.byte	23                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	32                              # DW_AT_decl_line
	.long	103                             # DW_AT_type
	.byte	13                              # Abbrev [13] 0xbf:0x6 DW_TAG_call_site
	.long	216                             # DW_AT_call_origin
	.byte	3                               # DW_AT_call_return_pc
	.byte	13                              # Abbrev [13] 0xc5:0x6 DW_TAG_call_site
	.long	240                             # DW_AT_call_origin
	.byte	4                               # DW_AT_call_return_pc
	.byte	13                              # Abbrev [13] 0xcb:0x6 DW_TAG_call_site
	.long	301                             # DW_AT_call_origin
	.byte	5                               # DW_AT_call_return_pc
	.byte	13                              # Abbrev [13] 0xd1:0x6 DW_TAG_call_site
	.long	335                             # DW_AT_call_origin
	.byte	6                               # DW_AT_call_return_pc
	.byte	0                               # End Of Children Mark
	.byte	14                              # Abbrev [14] 0xd8:0x13 DW_TAG_subprogram
	.byte	13                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	7                               # DW_AT_decl_line
                                        # DW_AT_prototyped
	.long	103                             # DW_AT_type
                                        # DW_AT_declaration
                                        # DW_AT_external
	.byte	15                              # Abbrev [15] 0xe0:0x5 DW_TAG_formal_parameter
	.long	235                             # DW_AT_type
	.byte	15                              # Abbrev [15] 0xe5:0x5 DW_TAG_formal_parameter
	.long	103                             # DW_AT_type
	.byte	0                               # End Of Children Mark
	.byte	9                               # Abbrev [9] 0xeb:0x5 DW_TAG_pointer_type
	.long	62                              # DW_AT_type
	.byte	16                              # Abbrev [16] 0xf0:0x3d DW_TAG_subprogram
	.byte	7                               # DW_AT_low_pc
	.long	.Lfunc_end1-.Lfunc_begin1       # DW_AT_high_pc
	.byte	1                               # DW_AT_frame_base
	.byte	90
                                        # DW_AT_call_all_calls
	.byte	16                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	13                              # DW_AT_decl_line
                                        # DW_AT_prototyped
	.long	103                             # DW_AT_type
	.byte	17                              # Abbrev [17] 0xff:0xa DW_TAG_formal_parameter
	.byte	1                               # DW_AT_location
	.byte	81
	.byte	24                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	13                              # DW_AT_decl_line
	.long	369                             # DW_AT_type
	.byte	17                              # Abbrev [17] 0x109:0xa DW_TAG_formal_parameter
	.byte	1                               # DW_AT_location
	.byte	82
	.byte	22                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	13                              # DW_AT_decl_line
	.long	103                             # DW_AT_type
	.byte	12                              # Abbrev [12] 0x113:0x9 DW_TAG_variable
	.byte	4                               # DW_AT_location
	.byte	23                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	14                              # DW_AT_decl_line
	.long	103                             # DW_AT_type
	.byte	18                              # Abbrev [18] 0x11c:0x10 DW_TAG_lexical_block
	.byte	8                               # DW_AT_low_pc
	.long	.Ltmp59-.Ltmp38                 # DW_AT_high_pc
	.byte	12                              # Abbrev [12] 0x122:0x9 DW_TAG_variable
	.byte	5                               # DW_AT_location
	.byte	25                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	15                              # DW_AT_decl_line
	.long	103                             # DW_AT_type
	.byte	0                               # End Of Children Mark
	.byte	0                               # End Of Children Mark
	.byte	16                              # Abbrev [16] 0x12d:0x22 DW_TAG_subprogram
	.byte	9                               # DW_AT_low_pc
	.long	.Lfunc_end2-.Lfunc_begin2       # DW_AT_high_pc
	.byte	1                               # DW_AT_frame_base
	.byte	90
                                        # DW_AT_call_all_calls
	.byte	17                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	20                              # DW_AT_decl_line
                                        # DW_AT_prototyped
	.long	124                             # DW_AT_type
	.byte	11                              # Abbrev [11] 0x13c:0x9 DW_TAG_formal_parameter
	.byte	6                               # DW_AT_location
	.byte	26                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	20                              # DW_AT_decl_line
	.long	124                             # DW_AT_type
	.byte	11                              # Abbrev [11] 0x145:0x9 DW_TAG_formal_parameter
	.byte	7                               # DW_AT_location
	.byte	27                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	20                              # DW_AT_decl_line
	.long	136                             # DW_AT_type
	.byte	0                               # End Of Children Mark
	.byte	14                              # Abbrev [14] 0x14f:0x22 DW_TAG_subprogram
	.byte	14                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	8                               # DW_AT_decl_line
                                        # DW_AT_prototyped
	.long	103                             # DW_AT_type
                                        # DW_AT_declaration
                                        # DW_AT_external
	.byte	15                              # Abbrev [15] 0x157:0x5 DW_TAG_formal_parameter
	.long	103                             # DW_AT_type
	.byte	15                              # Abbrev [15] 0x15c:0x5 DW_TAG_formal_parameter
	.long	103                             # DW_AT_type
	.byte	15                              # Abbrev [15] 0x161:0x5 DW_TAG_formal_parameter
	.long	103                             # DW_AT_type
	.byte	15                              # Abbrev [15] 0x166:0x5 DW_TAG_formal_parameter
	.long	103                             # DW_AT_type
	.byte	15                              # Abbrev [15] 0x16b:0x5 DW_TAG_formal_parameter
	.long	103                             # DW_AT_type
	.byte	0                               # End Of Children Mark
	.byte	9                               # Abbrev [9] 0x171:0x5 DW_TAG_pointer_type
	.long	374                             # DW_AT_type
	.byte	5                               # Abbrev [5] 0x176:0x5 DW_TAG_const_type
	.long	379                             # DW_AT_type
	.byte	8                               # Abbrev [8] 0x17b:0x8 DW_TAG_typedef
	.long	387                             # DW_AT_type
	.byte	20                              # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	3                               # DW_AT_decl_line
	.byte	6                               # Abbrev [6] 0x183:0x4 DW_TAG_base_type
	.byte	19                              # DW_AT_name
	.byte	8                               # DW_AT_encoding
	.byte	1                               # DW_AT_byte_size
	.byte	0                               # End Of Children Mark
.Ldebug_info_end0:
	.section	.debug_str_offsets,"",@progbits
	.long	116                             # Length of String Offsets Set
	.short	5
	.short	0
.Lstr_offsets_base0:
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"Debian clang version 14.0.6"   # string offset=0
.Linfo_string1:
	.asciz	"clang_transfer.c"              # string offset=28
.Linfo_string2:
	.asciz	"."                             # string offset=45
.Linfo_string3:
	.asciz	"GREETING"                      # string offset=47
.Linfo_string4:
	.asciz	"char"                          # string offset=56
.Linfo_string5:
	.asciz	"__ARRAY_SIZE_TYPE__"           # string offset=61
.Linfo_string6:
	.asciz	"WEIGHTS"                       # string offset=81
.Linfo_string7:
	.asciz	"unsigned long long"            # string offset=89
.Linfo_string8:
	.asciz	"u64"                           # string offset=108
.Linfo_string9:
	.asciz	"long long"                     # string offset=112
.Linfo_string10:
	.asciz	"unsigned int"                  # string offset=122
.Linfo_string11:
	.asciz	"u32"                           # string offset=135
.Linfo_string12:
	.asciz	"signed char"                   # string offset=139
.Linfo_string13:
	.asciz	"sol_log_"                      # string offset=151
.Linfo_string14:
	.asciz	"sol_log_64_"                   # string offset=160
.Linfo_string15:
	.asciz	"entrypoint"                    # string offset=172
.Linfo_string16:
	.asciz	"weigh"                         # string offset=183
.Linfo_string17:
	.asciz	"mix"                           # string offset=189
.Linfo_string18:
	.asciz	"input"                         # string offset=193
.Linfo_string19:
	.asciz	"unsigned char"                 # string offset=199
.Linfo_string20:
	.asciz	"u8"                            # string offset=213
.Linfo_string21:
	.asciz	"accounts"                      # string offset=216
.Linfo_string22:
	.asciz	"length"                        # string offset=225
.Linfo_string23:
	.asciz	"sum"                           # string offset=232
.Linfo_string24:
	.asciz	"data"                          # string offset=236
.Linfo_string25:
	.asciz	"i"                             # string offset=241
.Linfo_string26:
	.asciz	"a"                             # string offset=243
.Linfo_string27:
	.asciz	"b"                             # string offset=245
	.section	.debug_str_offsets,"",@progbits
	.long	.Linfo_string0
	.long	.Linfo_string1
	.long	.Linfo_string2
	.long	.Linfo_string3
	.long	.Linfo_string4
	.long	.Linfo_string5
	.long	.Linfo_string6
	.long	.Linfo_string7
	.long	.Linfo_string8
	.long	.Linfo_string9
	.long	.Linfo_string10
	.long	.Linfo_string11
	.long	.Linfo_string12
	.long	.Linfo_string13
	.long	.Linfo_string14
	.long	.Linfo_string15
	.long	.Linfo_string16
	.long	.Linfo_string17
	.long	.Linfo_string18
	.long	.Linfo_string19
	.long	.Linfo_string20
	.long	.Linfo_string21
	.long	.Linfo_string22
	.long	.Linfo_string23
	.long	.Linfo_string24
	.long	.Linfo_string25
	.long	.Linfo_string26
	.long	.Linfo_string27
	.section	.debug_addr,"",@progbits
	.long	.Ldebug_addr_end0-.Ldebug_addr_start0 # Length of contribution
.Ldebug_addr_start0:
	.short	5                               # DWARF version number
	.byte	8                               # Address size
	.byte	0                               # Segment selector size
.Laddr_table_base0:
	.quad	GREETING
	.quad	WEIGHTS
	.quad	.Lfunc_begin0
	.quad	.Ltmp19
	.quad	.Ltmp22
	.quad	.Ltmp27
	.quad	.Ltmp31
	.quad	.Lfunc_begin1
	.quad	.Ltmp38
	.quad	.Lfunc_begin2
.Ldebug_addr_end0:
	.section	.BTF,"",@progbits
	.short	60319                           # 0xeb9f
	.byte	1
	.byte	0
	.long	24
	.long	0
	.long	524
	.long	524
	.long	880
	.long	0                               # BTF_KIND_PTR(id = 1)
	.long	33554432                        # 0x2000000
	.long	2
	.long	0                               # BTF_KIND_CONST(id = 2)
	.long	167772160                       # 0xa000000
	.long	3
	.long	1                               # BTF_KIND_TYPEDEF(id = 3)
	.long	134217728                       # 0x8000000
	.long	4
	.long	4                               # BTF_KIND_INT(id = 4)
	.long	16777216                        # 0x1000000
	.long	1
	.long	8                               # 0x8
	.long	0                               # BTF_KIND_FUNC_PROTO(id = 5)
	.long	218103809                       # 0xd000001
	.long	6
	.long	18
	.long	1
	.long	24                              # BTF_KIND_TYPEDEF(id = 6)
	.long	134217728                       # 0x8000000
	.long	7
	.long	28                              # BTF_KIND_INT(id = 7)
	.long	16777216                        # 0x1000000
	.long	8
	.long	64                              # 0x40
	.long	47                              # BTF_KIND_FUNC(id = 8)
	.long	201326593                       # 0xc000001
	.long	5
	.long	0                               # BTF_KIND_FUNC_PROTO(id = 9)
	.long	218103810                       # 0xd000002
	.long	6
	.long	0
	.long	10
	.long	0
	.long	6
	.long	0                               # BTF_KIND_PTR(id = 10)
	.long	33554432                        # 0x2000000
	.long	11
	.long	0                               # BTF_KIND_CONST(id = 11)
	.long	167772160                       # 0xa000000
	.long	12
	.long	485                             # BTF_KIND_INT(id = 12)
	.long	16777216                        # 0x1000000
	.long	1
	.long	16777224                        # 0x1000008
	.long	490                             # BTF_KIND_FUNC(id = 13)
	.long	201326594                       # 0xc000002
	.long	9
	.long	0                               # BTF_KIND_FUNC_PROTO(id = 14)
	.long	218103813                       # 0xd000005
	.long	6
	.long	0
	.long	6
	.long	0
	.long	6
	.long	0
	.long	6
	.long	0
	.long	6
	.long	0
	.long	6
	.long	499                             # BTF_KIND_FUNC(id = 15)
	.long	201326594                       # 0xc000002
	.long	14
	.long	0                               # BTF_KIND_FUNC_PROTO(id = 16)
	.long	218103810                       # 0xd000002
	.long	6
	.long	511
	.long	1
	.long	516
	.long	6
	.long	523                             # BTF_KIND_FUNC(id = 17)
	.long	201326592                       # 0xc000000
	.long	16
	.long	696                             # BTF_KIND_TYPEDEF(id = 18)
	.long	134217728                       # 0x8000000
	.long	19
	.long	700                             # BTF_KIND_INT(id = 19)
	.long	16777216                        # 0x1000000
	.long	4
	.long	32                              # 0x20
	.long	713                             # BTF_KIND_INT(id = 20)
	.long	16777216                        # 0x1000000
	.long	1
	.long	16777224                        # 0x1000008
	.long	0                               # BTF_KIND_FUNC_PROTO(id = 21)
	.long	218103810                       # 0xd000002
	.long	18
	.long	725
	.long	18
	.long	727
	.long	20
	.long	729                             # BTF_KIND_FUNC(id = 22)
	.long	201326592                       # 0xc000000
	.long	21
	.long	0                               # BTF_KIND_ARRAY(id = 23)
	.long	50331648                        # 0x3000000
	.long	0
	.long	11
	.long	24
	.long	28
	.long	835                             # BTF_KIND_INT(id = 24)
	.long	16777216                        # 0x1000000
	.long	4
	.long	32                              # 0x20
	.long	855                             # BTF_KIND_VAR(id = 25)
	.long	234881024                       # 0xe000000
	.long	23
	.long	0
	.long	0                               # BTF_KIND_CONST(id = 26)
	.long	167772160                       # 0xa000000
	.long	6
	.long	0                               # BTF_KIND_ARRAY(id = 27)
	.long	50331648                        # 0x3000000
	.long	0
	.long	26
	.long	24
	.long	4
	.long	864                             # BTF_KIND_VAR(id = 28)
	.long	234881024                       # 0xe000000
	.long	27
	.long	0
	.long	872                             # BTF_KIND_DATASEC(id = 29)
	.long	251658242                       # 0xf000002
	.long	0
	.long	25
	.long	GREETING
	.long	28
	.long	28
	.long	WEIGHTS
	.long	32
	.byte	0                               # string offset=0
	.ascii	"u8"                            # string offset=1
	.byte	0
	.ascii	"unsigned char"                 # string offset=4
	.byte	0
	.ascii	"input"                         # string offset=18
	.byte	0
	.ascii	"u64"                           # string offset=24
	.byte	0
	.ascii	"unsigned long long"            # string offset=28
	.byte	0
	.ascii	"entrypoint"                    # string offset=47
	.byte	0
	.ascii	".text"                         # string offset=58
	.byte	0
	.ascii	"./clang_transfer.c"            # string offset=64
	.byte	0
	.ascii	"u64 entrypoint(const u8 *input) {" # string offset=83
	.byte	0
	.ascii	"    u64 accounts = *(const u64 *)input;" # string offset=117
	.byte	0
	.ascii	"    if (accounts != 0)"        # string offset=157
	.byte	0
	.ascii	"    u64 length = *(const u64 *)(input + 8);" # string offset=180
	.byte	0
	.ascii	"    if ((long long)length <= 0)" # string offset=224
	.byte	0
	.ascii	"    sol_log_(GREETING, sizeof(GREETING) - 1);" # string offset=256
	.byte	0
	.ascii	"    u64 sum = weigh(input + 16, length);" # string offset=302
	.byte	0
	.ascii	"    sol_log_64_(sum, mix((u32)sum, (signed char)input[16]), __builtin_bswap32((u32)sum), -sum, length);" # string offset=343
	.byte	0
	.ascii	"    return sum == 42 ? 0 : sum % 7;" # string offset=447
	.byte	0
	.byte	125                             # string offset=483
	.byte	0
	.ascii	"char"                          # string offset=485
	.byte	0
	.ascii	"sol_log_"                      # string offset=490
	.byte	0
	.ascii	"sol_log_64_"                   # string offset=499
	.byte	0
	.ascii	"data"                          # string offset=511
	.byte	0
	.ascii	"length"                        # string offset=516
	.byte	0
	.ascii	"weigh"                         # string offset=523
	.byte	0
	.ascii	"__attribute__((noinline)) static u64 weigh(const u8 *data, u64 length) {" # string offset=529
	.byte	0
	.ascii	"    for (u64 i = 0; i < length; i++)" # string offset=602
	.byte	0
	.ascii	"        sum += WEIGHTS[i & 3] * data[i];" # string offset=639
	.byte	0
	.ascii	"    return sum;"               # string offset=680
	.byte	0
	.ascii	"u32"                           # string offset=696
	.byte	0
	.ascii	"unsigned int"                  # string offset=700
	.byte	0
	.ascii	"signed char"                   # string offset=713
	.byte	0
	.byte	97                              # string offset=725
	.byte	0
	.byte	98                              # string offset=727
	.byte	0
	.ascii	"mix"                           # string offset=729
	.byte	0
	.ascii	"__attribute__((noinline)) static u32 mix(u32 a, signed char b) {" # string offset=733
	.byte	0
	.ascii	"    return (a << 3) ^ (u32)(b >> 1);" # string offset=798
	.byte	0
	.ascii	"__ARRAY_SIZE_TYPE__"           # string offset=835
	.byte	0
	.ascii	"GREETING"                      # string offset=855
	.byte	0
	.ascii	"WEIGHTS"                       # string offset=864
	.byte	0
	.ascii	".rodata"                       # string offset=872
	.byte	0
	.section	.BTF.ext,"",@progbits
	.short	60319                           # 0xeb9f
	.byte	1
	.byte	0
	.long	32
	.long	0
	.long	36
	.long	36
	.long	508
	.long	544
	.long	0
	.long	8                               # FuncInfo
	.long	58                              # FuncInfo section string offset=58
	.long	3
	.long	.Lfunc_begin0
	.long	8
	.long	.Lfunc_begin1
	.long	17
	.long	.Lfunc_begin2
	.long	22
	.long	16                              # LineInfo
	.long	58                              # LineInfo section string offset=58
	.long	31
	.long	.Lfunc_begin0
	.long	64
	.long	83
	.long	24576                           # Line 24 Col 0
	.long	.Ltmp4
	.long	64
	.long	117
	.long	25620                           # Line 25 Col 20
	.long	.Ltmp7
	.long	64
	.long	157
	.long	26633                           # Line 26 Col 9
	.long	.Ltmp10
	.long	64
	.long	180
	.long	28690                           # Line 28 Col 18
	.long	.Ltmp13
	.long	64
	.long	224
	.long	29705                           # Line 29 Col 9
	.long	.Ltmp16
	.long	64
	.long	256
	.long	31749                           # Line 31 Col 5
	.long	.Ltmp20
	.long	64
	.long	302
	.long	32795                           # Line 32 Col 27
	.long	.Ltmp21
	.long	64
	.long	302
	.long	32783                           # Line 32 Col 15
	.long	.Ltmp25
	.long	64
	.long	343
	.long	33841                           # Line 33 Col 49
	.long	.Ltmp26
	.long	64
	.long	343
	.long	33814                           # Line 33 Col 22
	.long	.Ltmp28
	.long	64
	.long	343
	.long	33853                           # Line 33 Col 61
	.long	.Ltmp29
	.long	64
	.long	343
	.long	33882                           # Line 33 Col 90
	.long	.Ltmp30
	.long	64
	.long	343
	.long	33797                           # Line 33 Col 5
	.long	.Ltmp32
	.long	64
	.long	447
	.long	34828                           # Line 34 Col 12
	.long	.Ltmp35
	.long	64
	.long	483
	.long	35841                           # Line 35 Col 1
	.long	.Lfunc_begin1
	.long	64
	.long	529
	.long	13312                           # Line 13 Col 0
	.long	.Ltmp40
	.long	64
	.long	602
	.long	15365                           # Line 15 Col 5
	.long	.Ltmp45
	.long	64
	.long	639
	.long	16410                           # Line 16 Col 26
	.long	.Ltmp46
	.long	64
	.long	639
	.long	16400                           # Line 16 Col 16
	.long	.Ltmp47
	.long	64
	.long	639
	.long	16417                           # Line 16 Col 33
	.long	.Ltmp48
	.long	64
	.long	639
	.long	16400                           # Line 16 Col 16
	.long	.Ltmp49
	.long	64
	.long	639
	.long	16415                           # Line 16 Col 31
	.long	.Ltmp50
	.long	64
	.long	639
	.long	16397                           # Line 16 Col 13
	.long	.Ltmp53
	.long	64
	.long	602
	.long	15394                           # Line 15 Col 34
	.long	.Ltmp58
	.long	64
	.long	602
	.long	15365                           # Line 15 Col 5
	.long	.Ltmp61
	.long	64
	.long	680
	.long	17413                           # Line 17 Col 5
	.long	.Lfunc_begin2
	.long	64
	.long	733
	.long	20480                           # Line 20 Col 0
	.long	.Ltmp66
	.long	64
	.long	798
	.long	21535                           # Line 21 Col 31
	.long	.Ltmp69
	.long	64
	.long	798
	.long	21519                           # Line 21 Col 15
	.long	.Ltmp72
	.long	64
	.long	798
	.long	21525                           # Line 21 Col 21
	.long	.Ltmp73
	.long	64
	.long	798
	.long	21509                           # Line 21 Col 5
	.addrsig
	.addrsig_sym GREETING
	.section	.debug_line,"",@progbits
.Lline_table_start0:
