// What NVIDIA's driver reports as "Xid" in the kernel's log, by what has to be done about it. From the vendor's catalogue; numbers that are not here change
// nothing on the node.

/** The accelerator works again after a reset. */
export const NEEDS_RESET = [46, 48, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158] as const
/** It works again after a reboot of the host: it is off the bus, or its virtual machine has to start again. */
export const NEEDS_REBOOT = [79, 151] as const
/** No repair here: a link between accelerators, a card that is not seated, versions that do not fit. */
export const NEEDS_A_LOOK = [54, 74, 78, 144, 145, 146, 147, 148, 149, 150] as const
/** A program did something wrong, or was hit by an error that is over. The node is as good as before. */
export const OF_PROGRAMS = [
  8, 11, 13, 25, 31, 32, 39, 40, 41, 45, 60, 68, 69, 70, 71, 72, 75, 76, 77, 80, 82, 83, 84, 85, 86, 88, 89, 94, 96, 97,
  98, 99, 100, 101, 102, 103, 104, 105, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 139,
] as const
