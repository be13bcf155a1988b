/* A Cortex-M4 without an operating system: the vectors, the start, and text to the debugger (semihosting). On other machines the text goes to standard output. */

#include "board.h"

#include <stdint.h>
#include <string.h>

#ifdef __arm__

extern uint32_t stack_top, data_at, data_begin, data_end, bss_begin, bss_end;
int main(void);
void reset(void);

/* The debugger's calls (Arm, Semihosting for AArch32 and AArch64). */
enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18, APPLICATION_EXIT = 0x20026, RUN_TIME_ERROR = 0x20023 };

static void call_debugger(uint32_t what, const void *with)
{
    register uint32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void put(const char *text)
{
    call_debugger(SYS_WRITE0, text);
}

static void stop(int code)
{
    uintptr_t reason = code ? RUN_TIME_ERROR : APPLICATION_EXIT;
    call_debugger(SYS_EXIT, (const void *)reason);
    for (;;) {
    }
}

static void fault(void)
{
    put("fault\n");
    stop(1);
}

void reset(void)
{
    volatile uint32_t *const coprocessors = (volatile uint32_t *)0xe000ed88;
    const uint32_t *from = &data_at;
    *coprocessors |= 0xfu << 20; /* the floating-point unit */
    __asm__ volatile("dsb\nisb");
    for (uint32_t *to = &data_begin; to < &data_end;) *to++ = *from++;
    for (uint32_t *to = &bss_begin; to < &bss_end;) *to++ = 0;
    stop(main());
}

typedef void handler(void);
__attribute__((section(".vectors"), used)) static const struct {
    const void *stack;
    handler *handle[15];
} vectors = {&stack_top, {reset, fault, fault, fault, fault, fault}};

#else

#include <stdio.h>

void put(const char *text)
{
    fputs(text, stdout);
}

#endif

void put_number(double x)
{
    char text[32];
    int n = sizeof text - 1;
    uint64_t millionths = (uint64_t)((x < 0 ? -x : x) * 1e6 + 0.5);
    text[n] = 0;
    for (int k = 0; k < 7 || millionths; k++) {
        if (k == 6) text[--n] = '.';
        text[--n] = (char)('0' + millionths % 10);
        millionths /= 10;
    }
    if (x < 0) text[--n] = '-';
    put(text + n);
}

void put_bits(double x)
{
    static const char digit[] = "0123456789abcdef";
    char text[18];
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    for (int i = 0; i < 16; i++) text[i] = digit[bits >> (60 - 4 * i) & 15];
    text[16] = ' ', text[17] = 0;
    put(text);
}
