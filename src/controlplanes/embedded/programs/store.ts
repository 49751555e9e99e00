// A control plane's store while its API server is down: runs etcd alone over a folder for as long as a read or change takes.
import { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { base64 } from '#controlplanes/credentials/secrets.ts'
import { etcdFlags, etcdUrl } from './flags.ts'
import { type EtcdKeys, writeEtcdKeys } from './keys.ts'
import { freePorts, untilAnswer } from './ready.ts'
import { RunningPrograms } from './running.ts'

/** Keys of an API server's objects. */
const OBJECTS = { key: '/registry/', end: '/registry0' }
const RAISED = 'kubenode/raised'
/** Parallel writes that only raise the revision. */
const AT_ONCE = 64

export interface StoreFacts {
  readonly objects: number
  readonly revision: number
}

export interface StoreOf {
  /** The program. */
  readonly etcd: string
  /** Contains the folder etcd. */
  readonly data: string
  readonly keys: string
  readonly clock: Clock
}

export const etcdClient = (url: string, { ca, own }: EtcdKeys): KubeClient & { close(): void } =>
  new HttpKubeClient({
    server: url,
    ca: { data: ca },
    clientCertificate: { cert: { data: own.certificate }, key: { data: own.key } },
  })

async function alone<T>({ etcd, data, keys, clock }: StoreOf, work: (client: KubeClient) => Promise<T>): Promise<T> {
  const [etcdPort = 0, peerPort = 0] = await freePorts(2)
  const places = { data, keys, etcdPort, peerPort }
  const own = writeEtcdKeys(keys, clock.now())
  const programs = new RunningPrograms(data, clock)
  const client = etcdClient(etcdUrl(places), own)
  try {
    programs.start('etcd', etcd, etcdFlags(places))
    await untilAnswer({ what: 'etcd', path: '/health', client, failed: programs.failed, clock })
    return await work(client)
  } finally {
    client.close()
    await programs.stop()
  }
}

export const storeFacts = (store: StoreOf): Promise<StoreFacts> => alone(store, facts)

/** Raises it above what clients have observed, so that none of them takes an old revision for a newer one. */
export const raiseRevision = (store: StoreOf, above: number): Promise<void> =>
  alone(store, async (client) => {
    let { revision } = await facts(client)
    while (revision <= above) {
      const puts = Array.from({ length: Math.min(AT_ONCE, above - revision + 1) }, () =>
        asked(client, '/v3/kv/put', { key: base64(RAISED), value: base64('-') }),
      )
      revision = Math.max(...(await Promise.all(puts)).map(revisionIn))
    }
    const last = revisionIn(await asked(client, '/v3/kv/deleterange', { key: base64(RAISED) }))
    // A watch from an older revision is refused as too old, and its client lists again.
    await asked(client, '/v3/kv/compaction', { revision: String(last), physical: true })
  })

async function facts(client: KubeClient): Promise<StoreFacts> {
  const range = { key: base64(OBJECTS.key), range_end: base64(OBJECTS.end), count_only: true }
  const answer = await asked(client, '/v3/kv/range', range)
  return { objects: Number(answer['count'] ?? 0), revision: revisionIn(answer) }
}

async function asked(client: KubeClient, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await client.raw({ method: 'POST', path, body })
  const answer: unknown = status === 200 ? JSON.parse(text) : undefined
  if (!isObject(answer)) throw new Error(`etcd answers ${status} to ${path}`)
  return answer
}

const revisionIn = ({ header }: Readonly<Record<string, unknown>>): number =>
  Number(isObject(header) ? header['revision'] : 0)
