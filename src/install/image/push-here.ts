// Pushes a local layout to a registry, with progress.
import { copyImage, type SentBytes } from '#artifacts/oci/copy-image.ts'
import { onlyTag, withLayout } from '#artifacts/oci/layout-file.ts'
import { registryFor } from '#artifacts/oci/registry-for.ts'
import { amountLine } from '#lib/terminal/amount.ts'
import type { Io } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'

type RegistryFlags = Omit<Parameters<typeof registryFor>[1], 'env' | 'mayWrite'>

export async function pushHere(layout: string, reference: string, flags: RegistryFlags, io: Io): Promise<void> {
  const { store, named } = registryFor(reference, { ...flags, env: io.env, mayWrite: true })
  const what = `pushing to ${named.host}/${named.repository}`
  let sent: SentBytes | undefined
  const onBytes = (now: SentBytes) => void (sent = now)
  const digest = await withLayout(layout, (from) => {
    const tag = onlyTag(from)
    const pushed = copyImage({ from, to: store, reference: tag, tag: named.tag ?? tag, onBytes })
    return withProgress(
      io,
      (elapsedMs) => (sent === undefined ? what : amountLine(what, { ...sent, elapsedMs })),
      pushed,
    )
  })
  io.out(`${named.host}/${named.repository}@${digest}\n`)
}
