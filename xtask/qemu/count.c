/*
 * A plugin of QEMU's user-mode emulators: prints how many instructions the emulated process executed after
 * each call of a function whose name contains `counting_begins`, until the next of `counting_ends`. The
 * declarations are those of QEMU's qemu-plugin.h that it needs, so that the header need not be there.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { READS_NO_REGISTERS = 0 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          void (*entered)(unsigned int, void *), int flags, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t plugin,
                                           void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t plugin, void (*ended)(qemu_plugin_id_t, void *),
                                    void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static bool counts;
static uint64_t executed;

static void begin(unsigned int processor, void *data)
{
    (void)processor;
    (void)data;
    counts = true;
}

static void end(unsigned int processor, void *data)
{
    (void)processor;
    (void)data;
    counts = false;
}

static void add(unsigned int processor, void *instructions)
{
    (void)processor;
    if (counts)
        executed += (uintptr_t)instructions;
}

static void translated(qemu_plugin_id_t plugin, struct qemu_plugin_tb *block)
{
    (void)plugin;
    const char *name = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(block, 0));
    uintptr_t instructions = qemu_plugin_tb_n_insns(block);
    void (*entered)(unsigned int, void *) = add;
    if (name && strstr(name, "counting_begins"))
        entered = begin;
    if (name && strstr(name, "counting_ends"))
        entered = end;
    qemu_plugin_register_vcpu_tb_exec_cb(block, entered, READS_NO_REGISTERS, (void *)instructions);
}

static void ended(qemu_plugin_id_t plugin, void *data)
{
    (void)plugin;
    (void)data;
    fprintf(stderr, "executed %" PRIu64 "\n", executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t plugin, const void *info,
                                                                int count, char **arguments)
{
    (void)info;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated);
    qemu_plugin_register_atexit_cb(plugin, ended, NULL);
    return 0;
}
