// The message for a server without releases.
import { withHubHint } from '#explain/objects/hub-hint.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Io } from '#lib/terminal/io.ts'

export async function printNoReleases(client: KubeClient, io: Io): Promise<void> {
  io.err(`${await withHubHint(client, 'no releases', 'no releases yet; the first rendered commit creates one')}\n`)
}
