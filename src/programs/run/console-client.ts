// The clients of the console: one for each cluster and person, of servers that others administer, or that pass on what others answer (aggregated APIs).
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { clientOf } from './connect.ts'
import { MIB } from '#lib/bytes.ts'

/** A page of a list has less than one MiB. */
const BOUNDS = { parsed: 8 * MIB, text: 8 * MIB, listed: 64 * MIB }

export const consoleClient = (config: ConnectionConfig): HttpKubeClient => clientOf(config, 'kubenode-console', BOUNDS)
