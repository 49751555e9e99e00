// The authority of a Cluster of the local fleet is rotated while its real programs run: they get the certificates of each phase by themselves, and reads,
// a watch and joining hosts keep working.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { HOST_RECIPE } from '#controlplanes/embedded/plane-credentials.ts'
import { connectionOf, serverOf } from '#programs/run/connect.ts'
import { authorityPrints, signerPrint } from '#identity/authority-prints.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { LocalClusters } from '#programs/local/clusters.ts'
import { layoutOf, prepareFolders } from '#programs/local/layout.ts'
import { leaseType } from '#runtime/lease.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { clusterWorld, type ClusterWorld } from '#test/support/worlds/cluster-world.ts'

const ROOT = join(import.meta.dirname, '../..')
const configMaps = coreKind('ConfigMap')
const requests = coreKind('CertificateSigningRequest')
const TOKEN = 'abcdef.0123456789abcdef'
const ID = `${SYSTEM_NAMESPACE}.one`
/** Long enough for programs to start again with what they were given, as a quarter of an hour is. */
const PHASE_MS = 20_000

let world: ClusterWorld | undefined
let program: ChildProcess | undefined
const stop = new AbortController()
const ending: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  stop.abort()
  program?.kill('SIGKILL')
  for (const end of ending.toReversed()) await end()
  await world?.close()
})

async function connect(file: string) {
  const connection = await connectionOf(file)
  return { client: new HttpKubeClient(connection.config), ...serverOf(connection) }
}

/** With a token of the cluster and the authorities that hosts are given now; the admin asks for the certificate. */
async function joins(w: ClusterWorld, admin: KubeClient, name: string): Promise<boolean> {
  const plane = await w.host.get(ID)
  const place = { server: plane?.endpoint ?? '', ca: { data: plane?.ca ?? '' } }
  const stranger = new HttpKubeClient({ ...place, token: { data: TOKEN } })
  const key = await newPrivateKey()
  const request = await signingRequest(key, { commonName: `system:node:${name}`, organizations: ['system:nodes'] })
  const { text } = await stranger.raw({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })
  expect(text).toContain('system:bootstrap:abcdef')
  stranger.close()
  await admin.create(requests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['client auth', 'digital signature'],
    },
  })
  let certificate = ''
  await w.until(`${name} has a certificate`, async () => {
    const status = (await admin.get(requests, { name }))?.['status']
    certificate = isObject(status) ? Buffer.from(status['certificate'] ?? '', 'base64').toString() : ''
    return certificate !== ''
  })
  const node = new HttpKubeClient({ ...place, clientCertificate: { cert: { data: certificate }, key: { data: key } } })
  const { status } = await node.raw({ method: 'GET', path: '/version' })
  node.close()
  return status === 200
}

test('real programs, a watch and joining hosts work through every phase, and programs end with certificates of the new authority', async () => {
  const root = mkdtempSync(join(tmpdir(), 'kubenode-local-rotation-'))
  ending.push(() => rmSync(root, { recursive: true, force: true }))
  const layout = layoutOf(root)
  prepareFolders(layout)
  const w = (world = await clusterWorld({ root: layout.controlPlanes, recipe: { ...HOST_RECIPE, joinMs: PHASE_MS } }))
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  const plane = await connect(join(layout.controlPlanes, ID, 'data/admin.kubeconfig'))
  await installAll(plane.client)
  const [id = '', secret = ''] = TOKEN.split('.')
  const data = { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' }
  await plane.client.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
    data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
  })
  plane.client.close()
  const said: string[] = []
  const local = new LocalClusters({
    hub: w.admin,
    layout,
    driver: 'process',
    connect,
    print: (line) => void said.push(line),
    onChange: () => undefined,
    signal: stop.signal,
  })
  const following = local.run()
  ending.push(() => following)
  program = spawn(
    process.execPath,
    [join(ROOT, 'src/cli/main.ts'), 'run', '--follow', layout.clustersOf('approvers')],
    {
      stdio: 'ignore',
    },
  )
  await w.until('the cluster is followed', async () => local.clients.has('one'))
  /** A client as the local fleet has it now; it is replaced in each phase. */
  const now = (): KubeClient => {
    const client = local.clients.get('one')
    if (client === undefined) throw new Error('no client')
    return client
  }
  const leaseOf = async () => {
    const lease = await now().get(leaseType, { namespace: SYSTEM_NAMESPACE, name: 'kubenode-approver' })
    return lease?.spec?.renewTime
  }
  const seen: string[] = []
  const watching = (async () => {
    let from = (await now().list(configMaps, { namespace: 'default' })).resourceVersion
    while (!stop.signal.aborted)
      try {
        const events = now().watch(configMaps, { namespace: 'default', resourceVersion: from, signal: stop.signal })
        for await (const event of events) {
          from = event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? from)
          if (event.type === 'ADDED') seen.push(event.object.metadata.name ?? '')
        }
      } catch {
        await systemClock.sleep(20)
      }
  })()
  ending.push(() => watching)

  async function everythingWorks(phase: string): Promise<void> {
    const before = await leaseOf().catch(() => undefined)
    await w.until(`${phase}: the approver renews its lease`, async () => {
      const renewed = await leaseOf().catch(() => undefined)
      return renewed !== undefined && renewed !== before
    })
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: phase, namespace: 'default' } }
    await w.until(`${phase}: a write`, async () => {
      await now()
        .create(configMaps, object)
        .catch(() => undefined)
      return (
        (await now()
          .get(configMaps, { name: phase, namespace: 'default' })
          .catch(() => undefined)) !== undefined
      )
    })
    await w.until(`${phase}: the watch`, async () => seen.filter((name) => name === phase).length === 1)
    expect(await joins(w, now(), `node-${phase}`)).toBe(true)
  }
  const approver = () => {
    const path = layout.cluster('one').kubeconfig('approver')
    const { ca, clientCertificate } = parseSafeKubeconfig(readFileSync(path, 'utf8'), path).config
    const [bundle, cert] = [ca, clientCertificate?.cert].map((s) => (s !== undefined && 'data' in s ? s.data : ''))
    return { trusted: authorityPrints(bundle ?? ''), signedBy: signerPrint(cert ?? '', bundle ?? '') }
  }

  await everythingWorks('before')
  const [old = ''] = approver().trusted
  await w.declare('one', { controlPlane: { flavor: 'embedded', rotation: { certificateAuthority: 2 } } })
  await w.until('the program trusts both', async () => approver().trusted.length === 2)
  const [, next = ''] = approver().trusted
  await everythingWorks('distributing')
  await w.until('the program has a certificate of the new one', async () => approver().signedBy === next)
  await everythingWorks('reissuing')
  await w.until('the old one is out', async () => approver().trusted.join() === next)
  await everythingWorks('after')
  expect(approver()).toEqual({ trusted: [next], signedBy: next })
  expect(next).not.toBe(old)
  expect([program.exitCode, said]).toEqual([null, []])
}, 540_000)
