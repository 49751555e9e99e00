// The token of a control plane restore. Each is restored once; another number restores the snapshot again.

/** As in status.restored. A field that is left out counts as its default. */
export const restoreToken = ({ snapshot, attempt = 1 }: { readonly snapshot: string; readonly attempt?: number }) =>
  `${snapshot}/${attempt}`

/** Reusing the previous number would restore nothing. */
export function attemptAfter(restored: string | undefined, snapshot: string): number {
  const [name, attempt] = (restored ?? '').split('/')
  return name === snapshot ? Number(attempt) + 1 : 1
}
