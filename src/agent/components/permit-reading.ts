// What a permit says, as it was just read. It holds for the pass that read it.

/** Unknown: it could not be read, and unknown never disrupts. */
export type PermitReading =
  | {
      readonly kind: 'Granted'
      readonly permit: string
      /** It was read for a reboot too, and names it. */
      readonly forReboot?: boolean
    }
  | { readonly kind: 'NotGranted'; readonly permit: string; readonly why: string }
  | { readonly kind: 'Unknown'; readonly permit: string; readonly why: string }
