// The author of a hold or an approval: the username the server knows the caller by.
import type { KubeClient } from '#kube/client.ts'
import { currentPerson } from '#kube/current-person.ts'
import type { Io } from '#lib/terminal/io.ts'

/** If the server does not know, use this machine's user. */
export const authorOf = async (client: KubeClient, { env }: Io): Promise<string> =>
  (await currentPerson(client))?.name ?? env['USER'] ?? 'unknown'
