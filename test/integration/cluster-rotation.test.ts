// The controller of clusters replaces the authority and the service account keys of a control plane in phases, as a commit asks for it: each phase waits for a
// number that is in the status, survives the end of the controller or of the host, and leaves no certificate of the old authority.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { inFullAll, onlyInFull } from '#test/support/tools/full.ts'
import { credentialsIn } from '#lib/x509/server-keys.ts'
import { machine } from '#api/kinds/machine.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { HOST_RECIPE } from '#controlplanes/embedded/plane-credentials.ts'
import { authorityPrints, signerPrint } from '#identity/authority-prints.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { timestamp } from '#lib/clock.ts'
import { certificatesIn } from '#lib/x509/pem-list.ts'
import { atOnce } from '#test/support/fleets/at-once-recipe.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { clusterWorld, type ClusterWorld } from '#test/support/worlds/cluster-world.ts'

const secrets = coreKind('Secret')
/** Nothing lasts a quarter of an hour here. */
const AT_ONCE = atOnce(HOST_RECIPE)
const ID = `${SYSTEM_NAMESPACE}.one`

let world: ClusterWorld | undefined
const clients: HttpKubeClient[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await world?.close()
  world = undefined
})

/** A client with what the host hands out now. */
async function adminOf(w: ClusterWorld): Promise<HttpKubeClient> {
  const identity = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
  const client = new HttpKubeClient(parseSafeKubeconfig((await w.host.kubeconfig(ID, identity)) ?? '', 'test').config)
  clients.push(client)
  return client
}

async function started(more: Parameters<typeof clusterWorld>[0] = {}): Promise<ClusterWorld> {
  const w = (world = await clusterWorld({ recipe: AT_ONCE, ...more }))
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  await w.until('sync has a kubeconfig', async () => (await syncConfig(w)) !== undefined)
  await installAll(await adminOf(w))
  return w
}

async function syncConfig(w: ClusterWorld) {
  const secret = await w.admin.get(secrets, { namespace: CLUSTERS_NAMESPACE, name: 'cluster-one' })
  const text = secret?.['data']?.['kubeconfig']
  if (text === undefined) return undefined
  const { config } = parseSafeKubeconfig(Buffer.from(text, 'base64').toString('utf8'), 'test')
  const cert = config.clientCertificate?.cert
  return {
    config,
    trusted: authorityPrints(config.ca !== undefined && 'data' in config.ca ? config.ca.data : ''),
    certificate: cert !== undefined && 'data' in cert ? cert.data : '',
  }
}

const bundle = async (w: ClusterWorld): Promise<string> => (await w.host.get(ID))?.ca ?? ''
const rotate = (w: ClusterWorld, rotation: { certificateAuthority?: number; serviceAccountKeys?: number }) =>
  w.declare('one', { controlPlane: { flavor: 'embedded', rotation } })
const rotations = async (w: ClusterWorld) => (await w.get('one'))?.status?.rotations ?? []

/** As the agent of a host reports whom it trusts, and who signed its certificate. */
async function report(w: ClusterWorld, name: string, authorities: readonly string[], signedBy: string): Promise<void> {
  const client = await adminOf(w)
  const base = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name } } as const
  await client.apply(machine, { ...base, spec: { channel: 'Agent' } }, { fieldManager: 'test', force: true })
  const life = { issued: timestamp(Date.now()), expires: timestamp(Date.now() + 86_400_000) }
  await client.apply(
    machine,
    {
      ...base,
      status: { agent: { version: '0.0.0', authorities, certificate: { ...life, authority: signedBy } } },
    },
    { fieldManager: 'test', force: true, subresource: 'status' },
  )
}

const printsNow = async (w: ClusterWorld): Promise<readonly string[]> => authorityPrints(await bundle(w))

/** The server's own certificate and the admin's. */
function ownCertificates(w: ClusterWorld): readonly string[] {
  const given = JSON.parse(readFileSync(join(w.root, ID, 'data/pki/given.json'), 'utf8')) as Record<
    'server' | 'admin',
    { readonly certificate: string }
  >
  return [given.server.certificate, given.admin.certificate]
}

const syncWorks = async (w: ClusterWorld): Promise<boolean> => {
  const found = await syncConfig(w)
  if (found === undefined) return false
  const client = new HttpKubeClient(found.config)
  clients.push(client)
  return client.raw({ method: 'GET', path: '/version' }).then(
    ({ status }) => status === 200,
    () => false,
  )
}

test('a new control plane has its first keys for the numbers that are declared, and only a further number replaces them', async () => {
  const w = (world = await clusterWorld({ recipe: AT_ONCE }))
  const numbers = { certificateAuthority: 3, serviceAccountKeys: 2 }
  await rotate(w, numbers)
  await w.untilPhase('one', 'Ready')
  await w.until('sync has a kubeconfig', async () => (await syncConfig(w)) !== undefined)
  expect((await w.host.get(ID))?.own).toMatchObject({ declared: { ca: 3, 'service-account': 2 }, rotations: [] })
  expect(await printsNow(w)).toHaveLength(1)
  await rotate(w, { ...numbers, serviceAccountKeys: 3 })
  await w.until('the keys are replaced', async () => (await w.host.get(ID))?.own?.declared['service-account'] === 3)
})

test('an authority is replaced in phases that wait for agents by number, and no certificate of the old one is left', async () => {
  const w = await started()
  const [old = ''] = await printsNow(w)
  await report(w, 'm-1', [old], old)
  await report(w, 'm-2', [old], old)
  await rotate(w, { certificateAuthority: 2 })
  await w.until('sync trusts both', async () => (await syncConfig(w))?.trusted.length === 2)
  const [, next = ''] = await printsNow(w)
  await w.until('it waits for two', async () => (await rotations(w))[0]?.waitsFor?.seen === 1)
  const distributing = await w.get('one')
  expect(distributing?.status?.phase).toBe('Ready')
  expect(distributing?.status?.rotations).toMatchObject([
    {
      name: 'CertificateAuthority',
      phase: 'Distributing',
      waitsFor: { what: 'Agents', seen: 1, of: 3, missing: ['m-1', 'm-2'] },
    },
  ])
  expect(distributing?.status?.waitingFor).toMatchObject({
    predicate: 'RotationUnderWay',
    seen: 'the certificate authority: the new one is trusted and signs nothing yet; 1 of 3 clients (agents with their kubelets, and sync) trust it, not m-1, m-2',
  })
  await report(w, 'm-1', [old, next], old)
  await w.until('it waits for one', async () => (await rotations(w))[0]?.waitsFor?.seen === 2)
  expect((await rotations(w))[0]?.waitsFor?.missing).toEqual(['m-2'])
  expect((await w.host.get(ID))?.own?.signer).toBe(old)
  await report(w, 'm-2', [old, next], old)
  await w.until('the new one signs', async () => (await w.host.get(ID))?.own?.signer === next)
  await w.until('sync has a new certificate', async () => (await rotations(w))[0]?.waitsFor?.seen === 1)
  expect((await rotations(w))[0]).toMatchObject({ phase: 'Reissuing', waitsFor: { seen: 1, of: 3 } })
  expect(await printsNow(w)).toEqual([old, next])
  await report(w, 'm-1', [old, next], next)
  await report(w, 'm-2', [old, next], next)
  await w.until('the old one is out', async () => (await printsNow(w)).length === 1)
  await w.until('nothing is under way', async () => (await rotations(w)).length === 0)
  await w.until('sync trusts the new one alone', async () => (await syncConfig(w))?.trusted.join() === next)
  expect((await w.get('one'))?.status?.waitingFor).toBeUndefined()
  const authority = await bundle(w)
  const leaves = [...ownCertificates(w), (await syncConfig(w))?.certificate ?? '']
  expect(leaves.map((leaf) => signerPrint(leaf, authority))).toEqual([next, next, next])
  expect(await syncWorks(w)).toBe(true)
  const settled = [await w.host.get(ID), await syncConfig(w)]
  await rotate(w, { certificateAuthority: 2 })
  await w.stopController()
  await w.startController()
  await w.until('it is seen once more', async () => (await w.get('one'))?.status?.phase === 'Ready')
  expect([await w.host.get(ID), await syncConfig(w)]).toEqual(settled)
})

test('an authority is not removed while the machines cannot be read, and the status says so', async (context) => {
  onlyInFull(context)
  const w = await started()
  const [old] = await printsNow(w)
  await w.stopController()
  await rotate(w, { certificateAuthority: 2 })
  await w.host.put({
    id: ID,
    owner: (await w.get('one'))?.metadata.uid ?? '',
    version: '1.36.0',
    rotation: { declared: { ca: 2 } },
  })
  expect((await w.host.get(ID))?.own?.rotations).toMatchObject([
    { phase: 'Distributing', waitsFor: { isUnknown: true } },
  ])
  expect((await w.host.get(ID))?.own?.signer).toBe(old)
  await w.startController()
  await w.until('it goes on', async () => (await w.host.get(ID))?.own?.rotations.length === 0)
})

test.each(inFullAll(['host', 'controller'] as const, 2))(
  'a rotation goes on where it was when the %s ends in any phase',
  async (who) => {
    const w = await started()
    const [old = ''] = await printsNow(w)
    await report(w, 'm-1', [old], old)
    const again = async (): Promise<void> => {
      if (who === 'host') {
        await w.stopController()
        await w.restartHost()
        await w.startController()
        return
      }
      await w.stopController()
      await w.startController()
    }
    await rotate(w, { certificateAuthority: 2 })
    await w.until('both are trusted', async () => (await printsNow(w)).length === 2)
    const [, next = ''] = await printsNow(w)
    await again()
    expect(await printsNow(w)).toEqual([old, next])
    await report(w, 'm-1', [old, next], old)
    await w.until('the new one signs', async () => (await w.host.get(ID))?.own?.signer === next)
    await again()
    expect([await printsNow(w), (await w.host.get(ID))?.own?.signer]).toEqual([[old, next], next])
    await report(w, 'm-1', [old, next], next)
    await w.until('the old one is out', async () => (await printsNow(w)).join() === next)
    await again()
    await w.until('sync follows', async () => (await syncConfig(w))?.trusted.join() === next && (await syncWorks(w)))
    expect(await printsNow(w)).toEqual([next])
  },
)

test('new service account keys sign at once, and the old ones are accepted until their last token has ended', async () => {
  const w = await started({ recipe: { ...HOST_RECIPE, joinMs: 0 } })
  const tokenOf = async (): Promise<string> => {
    const { text } = await (
      await adminOf(w)
    ).raw({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts/default/token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
  }
  const isGood = async (token: string): Promise<boolean> => {
    const plane = await w.host.get(ID)
    const client = new HttpKubeClient({
      server: plane?.endpoint ?? '',
      ca: { data: plane?.ca ?? '' },
      token: { data: token },
    })
    clients.push(client)
    return client.raw({ method: 'GET', path: '/version' }).then(
      ({ status }) => status === 200,
      () => false,
    )
  }
  const old = await tokenOf()
  await rotate(w, { serviceAccountKeys: 2 })
  await w.until('the new ones sign', async () => (await rotations(w))[0]?.phase === 'Reissuing')
  const { status } = (await w.get('one')) ?? {}
  expect(status?.rotations?.[0]?.message).toMatch(
    /^the service account keys: the new one signs, and the old one is still trusted until .*, when the last token of the old one has ended$/,
  )
  expect(status?.waitingFor).toBeUndefined()
  const keyOf = (token: string): unknown => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
  expect(keyOf(await tokenOf())).not.toEqual(keyOf(old))
  expect([await isGood(old), await isGood(await tokenOf())]).toEqual([true, true])
})

test('a control plane that made its own authority before this release keeps it, and can rotate it', async (context) => {
  onlyInFull(context)
  const w = (world = await clusterWorld({ recipe: AT_ONCE }))
  const made = credentialsIn(join(w.root, ID, 'data/pki'), Date.now(), ['127.0.0.1'])
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  expect(await bundle(w)).toBe(made.authority.certificate)
  await w.until('sync has a kubeconfig', async () => (await syncConfig(w)) !== undefined)
  await installAll(await adminOf(w))
  await rotate(w, { certificateAuthority: 2 })
  await w.until('it has another one', async () => {
    const now = await bundle(w)
    return certificatesIn(now).length === 1 && now !== made.authority.certificate
  })
  await w.until('sync follows', () => syncWorks(w))
})
