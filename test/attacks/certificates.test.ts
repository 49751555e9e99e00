// A thief holds the certificate of an agent, real TLS and all: from when on the embedded server refuses it. What a kube-apiserver does instead is in
// docs/operations/security.md: there policies refuse what the thief writes.
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import {
  AGENTS_GROUP,
  ANNOTATIONS,
  agentKeyGroup,
  agentLeaseName,
  agentNodeGroup,
  agentUser,
  machineUidGroup,
} from '#api/names.ts'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { isUnauthorized } from '#kube/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { isAcceptedUser } from '#identity/accepted-agent.ts'
import { keyRecord, revocation } from '#identity/agent-key.ts'
import { shiftedClock } from '#test/support/clocks/shifted-clock.ts'

const OURS = '/apis/kubenode.io/v1alpha1'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kubenode-system/leases'
const DAY = 86_400_000

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end()
})

async function cluster() {
  const clock = shiftedClock()
  const server = await createApiServer({ clock, acceptsUser: isAcceptedUser })
  await server.listen()
  ending.push(() => server.close())
  const { admin: pair } = server.credentials
  const admin = clientWith(server, pair)
  await installAll(admin, false)
  return { server, clock, admin }
}

function clientWith(server: ApiServer, pair: { readonly certificate: string; readonly key: string }): HttpKubeClient {
  const clientCertificate = { cert: { data: pair.certificate }, key: { data: pair.key } }
  const client = new HttpKubeClient({ server: server.url, ca: { data: server.ca }, clientCertificate })
  ending.push(() => client.close())
  return client
}

const machineNamed = (admin: HttpKubeClient, name: string): Promise<Machine> =>
  admin.create(machine, {
    apiVersion: API_GROUP_VERSION,
    kind: machine.kind,
    metadata: { name },
    spec: { ...machine.example.spec, components: [] } as Machine['spec'],
  })

/** As the signer makes it for the agent of the machine; the key names itself after it is made. */
async function agentOf(server: ApiServer, m: Machine, days = 7) {
  const { name = '', uid = '' } = m.metadata
  const base = [AGENTS_GROUP, agentNodeGroup(name), machineUidGroup(uid)]
  const issue = (organizations: readonly string[]) =>
    issueCertificate(server.credentials.authority, {
      subject: { commonName: agentUser(name), organizations },
      validity: { now: systemClock.now(), days },
      usage: 'client',
    })
  return { issue, base }
}

const annotate = (admin: HttpKubeClient, name: string, annotations: Readonly<Record<string, string>>) =>
  admin.patch(machine, { name }, { type: 'merge', value: { metadata: { annotations } } }, { fieldManager: 'test' })

const statusOf = (answer: Promise<{ readonly status: number }>): Promise<number> =>
  answer.then(
    ({ status }) => status,
    (e: unknown) => {
      if (isUnauthorized(e)) return 401
      throw e
    },
  )
const readsMachine = (client: HttpKubeClient, name: string): Promise<number> =>
  statusOf(client.raw({ method: 'GET', path: `${OURS}/machines/${name}` }))
const renewsLease = (client: HttpKubeClient, { metadata: { name = '', uid = '' } }: Machine): Promise<number> => {
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: agentLeaseName(name), annotations: { [ANNOTATIONS.machineUid]: uid } },
    spec: { holderIdentity: name, leaseDurationSeconds: 40 },
  }
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const path = `${LEASES}/${agentLeaseName(name)}?fieldManager=kubenode-agent&force=true`
  return statusOf(client.raw({ method: 'PATCH', path, body, headers }))
}

/** Open already; `end` resolves when the server ends it. */
async function openWatch(client: HttpKubeClient, name: string): Promise<{ readonly end: Promise<void> }> {
  const open = Promise.withResolvers<void>()
  const follow = async (): Promise<void> => {
    const options = { fieldSelector: `metadata.name=${name}`, resourceVersion: '0', onOpen: () => open.resolve() }
    try {
      for await (const _ of client.watch(machine, options));
    } catch {
      // Cut off: that is an end as well.
    }
  }
  const end = follow()
  await open.promise
  return { end }
}

test('S26 a revoked key is answered 401 at its next request, its watch ends, and its neighbor notices nothing', async () => {
  const { server, admin } = await cluster()
  const [a, b] = [await machineNamed(admin, 'm-a'), await machineNamed(admin, 'm-b')]
  const [ofA, ofB] = [await agentOf(server, a), await agentOf(server, b)]
  const [stolen, neighbor] = [clientWith(server, ofA.issue(ofA.base)), clientWith(server, ofB.issue(ofB.base))]
  expect([await readsMachine(stolen, 'm-a'), await renewsLease(stolen, a)]).toEqual([200, 201])
  const watch = await openWatch(stolen, 'm-a')
  await annotate(admin, 'm-a', { [ANNOTATIONS.revoked]: revocation(a, systemClock.now(), 'stolen') })
  expect([await readsMachine(stolen, 'm-a'), await renewsLease(stolen, a)]).toEqual([401, 401])
  expect([await readsMachine(neighbor, 'm-b'), await renewsLease(neighbor, b)]).toEqual([200, 201])
  await watch.end
})

test('S26 the host that joined again after a revocation is served, the stolen key is not', async () => {
  const { server, admin } = await cluster()
  const m = await machineNamed(admin, 'm-a')
  const { issue, base } = await agentOf(server, m)
  await annotate(admin, 'm-a', { [ANNOTATIONS.revoked]: revocation(m, systemClock.now(), 'stolen') })
  const key = '7'.repeat(64)
  await annotate(admin, 'm-a', { [ANNOTATIONS.agentKey]: keyRecord(m, key) })
  const [old, next] = [clientWith(server, issue(base)), clientWith(server, issue([...base, agentKeyGroup(key)]))]
  expect([await readsMachine(old, 'm-a'), await readsMachine(next, 'm-a')]).toEqual([401, 200])
})

test('S26 an expired certificate is answered 401, also on a connection that was opened before, and its watch ends', async () => {
  const { server, admin, clock } = await cluster()
  const m = await machineNamed(admin, 'm-a')
  const { issue, base } = await agentOf(server, m, 7)
  const agent = clientWith(server, issue(base))
  expect(await readsMachine(agent, 'm-a')).toBe(200)
  const watch = await openWatch(agent, 'm-a')
  clock.shift(8 * DAY)
  expect(await readsMachine(agent, 'm-a')).toBe(401)
  await watch.end
  const expired = issueCertificate(server.credentials.authority, {
    subject: { commonName: agentUser('m-a'), organizations: base },
    validity: { now: systemClock.now() - 8 * DAY, days: 7 },
    usage: 'client',
  })
  expect(await readsMachine(clientWith(server, expired), 'm-a')).toBe(401)
})
