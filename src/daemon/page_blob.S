/* The files of the page, one behind the other, as web/build.mjs packed them; page_files.c says which is where. Assembly,
 * because a compiler takes a minute for what an assembler copies. */
        .section .rodata
        .global sn_page_blob
        .hidden sn_page_blob
        .type sn_page_blob, %object
        .balign 16
sn_page_blob:
        .incbin "page.bin"
        .size sn_page_blob, . - sn_page_blob
        .section .note.GNU-stack, "", %progbits
