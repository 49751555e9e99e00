// The result of reading a permit just now. It is valid for the pass that read it.

/** Unknown: the permit could not be read. Unknown never disrupts. */
export type PermitReading =
  | {
      readonly kind: 'Granted'
      readonly permit: string
      /** The pass also needed operation Reboot, and the permit lists it. */
      readonly forReboot?: boolean
    }
  | { readonly kind: 'NotGranted'; readonly permit: string; readonly why: string }
  | { readonly kind: 'Unknown'; readonly permit: string; readonly why: string }

/** How often permits are read while an order waits for a Granted permit. */
export const PERMIT_RETRY_MS = 5_000
