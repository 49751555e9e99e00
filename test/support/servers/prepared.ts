// What a server holds after an installation, made once in each test process: to apply it again for every server costs half a second of processor each.
// The objects are those that the server itself stored; each copy gets UIDs of its own, as no two clusters share one.
import { randomUUID } from 'node:crypto'
import { createApiServer } from '#apiserver/api-server.ts'
import { memoryStorage } from '#apiserver/storage/memory.ts'
import type { Change, Kept, StorageBackend } from '#apiserver/storage/port.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import type { KubeClient } from '#kube/client.ts'

type Install = (client: KubeClient) => Promise<void>

interface Prepared {
  readonly revision: number
  readonly objects: readonly Kept[]
}

const known = new Map<Install, Promise<Prepared>>()

/** For a server in memory; `install` is one function for all servers that are alike. */
export async function preparedStorage(install: Install): Promise<StorageBackend> {
  const making = known.get(install) ?? prepare(install)
  known.set(install, making)
  const { revision, objects } = await making
  return { ...memoryStorage(), load: () => ({ revision, objects: withOwnUids(objects) }) }
}

async function prepare(install: Install): Promise<Prepared> {
  const stored = new Map<string, Change>()
  const storage: StorageBackend = {
    ...memoryStorage(),
    commit: async (changes) => {
      for (const c of changes) stored.set(`${c.resource} ${c.namespace} ${c.name}`, c)
    },
  }
  // Without loops: what they make differs from server to server, and each server's own loops make it.
  const server = await createApiServer({ storage, loops: 'none' })
  await server.listen()
  const own = new Set(stored.keys())
  const client = new HttpKubeClient(parseSafeKubeconfig(server.adminKubeconfig(), 'test').config)
  try {
    await install(client)
  } finally {
    client.close()
    await server.close()
  }
  const objects = [...stored].flatMap(([key, { bytes, ...place }]) =>
    own.has(key) || bytes === undefined ? [] : [{ ...place, bytes }],
  )
  return { revision: Math.max(...[...stored.values()].map((c) => c.revision)), objects }
}

const UID = /"uid":"([0-9a-f-]{36})"/g

function withOwnUids(objects: readonly Kept[]): readonly Kept[] {
  const uids = new Map<string, string>()
  const next = (uid: string): string => {
    const found = uids.get(uid) ?? randomUUID()
    uids.set(uid, found)
    return found
  }
  return objects.map((o) => ({
    ...o,
    bytes: Buffer.from(o.bytes.toString().replaceAll(UID, (_, uid: string) => `"uid":"${next(uid)}"`)),
  }))
}
