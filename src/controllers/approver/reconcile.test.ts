// The approver next to the machine controller: which tokens exist, for how long, and how it answers requests.
import 'reflect-metadata'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import {
  AGENTS_GROUP,
  AGENT_SIGNER,
  ANNOTATIONS,
  BOOTSTRAP_GROUP,
  JOIN_NAMESPACE,
  agentNodeGroup,
  agentUser,
  machineUidGroup,
} from '#api/names.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { type CertificateRequest, certificateRequestType } from '#identity/certificate-request.ts'
import { secretType } from '#nodes/objects.ts'
import { readmission } from '#identity/readmitted.ts'
import { type TestWorld, beat, endWorlds, machineWorld, register, setOf } from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { recordedKey } from '#identity/agent-key.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { tokenText } from '#identity/join-token.ts'
import { StaticProvider, notesInMemory } from '#providers/static/provider.ts'
import { noFaults, onEveryNthCall } from '#test/doubles/kube/faults.ts'
import { systemClock } from '#lib/system-clock.ts'
import { createTokenKeeper } from './join-tokens/join-tokens.ts'
import { handOverOf, tokenFor, tokenId } from './join-tokens/token.ts'

afterEach(endWorlds)

async function fleetOf(replicas: number): Promise<{ readonly w: TestWorld; readonly names: readonly string[] }> {
  const w = await machineWorld()
  w.fake.plant(machineSet, setOf(replicas))
  await w.clock.advance(1_000)
  return { w, names: w.fake.all(machineType).map((m) => m.metadata.name ?? '') }
}

const tokenOf = (w: TestWorld, name: string): string => w.hosts.get(`process://${name}`)?.request.join.token ?? ''
const secretsOf = (w: TestWorld, name: string) =>
  w.fake.all(secretType).filter((s) => s.metadata.annotations?.[ANNOTATIONS.machine] === name)

let asked = 0
async function ask(w: TestWorld, machine: string, username: string, groups: readonly string[]): Promise<string> {
  const pem = await signingRequest(await newPrivateKey(), {
    commonName: agentUser(machine),
    organizations: [AGENTS_GROUP, agentNodeGroup(machine), machineUidGroup(w.machine(machine)?.metadata.uid ?? '')],
  })
  const name = `request-${++asked}`
  const request: CertificateRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: AGENT_SIGNER,
      usages: ['client auth'],
      expirationSeconds: 7 * 86_400,
      username,
      groups,
    },
  }
  w.fake.plant(certificateRequestType, request)
  const verdict = () =>
    (w.fake.peek(certificateRequestType, { name }) as CertificateRequest).status?.conditions?.[0] as
      | { readonly type: string; readonly message?: string }
      | undefined
  for (let i = 0; i < 100 && verdict() === undefined; i++) {
    await w.clock.advance(100)
    // Its signature is checked outside of virtual time.
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const { type = 'Pending', message = '' } = verdict() ?? {}
  return `${type}: ${message}`
}

const withToken = (w: TestWorld, machine: string, token = tokenOf(w, machine)) =>
  ask(w, machine, `system:bootstrap:${token.slice(0, 6)}`, [BOOTSTRAP_GROUP])

describe('S2 join tokens', () => {
  test('exist for each machine without an agent, in kube-system and handed over by uid', async () => {
    const { w, names } = await fleetOf(3)
    for (const name of names) {
      const uid = w.machine(name)?.metadata.uid ?? ''
      expect(secretsOf(w, name).map((s) => `${s.metadata.namespace}/${s.metadata.name}`)).toEqual([
        `kube-system/bootstrap-token-${tokenOf(w, name).slice(0, 6)}`,
        `kubenode-join/join-${uid}`,
      ])
      for (const s of secretsOf(w, name)) expect(s.metadata.annotations?.[ANNOTATIONS.machineUid]).toBe(uid)
    }
  })

  test('stay until the agent is heard, which reads its certificate with them, and end then', async () => {
    const { w, names } = await fleetOf(1)
    const [name = ''] = names
    expect(await withToken(w, name)).toMatch(/^Approved/)
    await w.clock.advance(1_000)
    expect(recordedKey(w.machine(name) as Machine)).toMatch(/^[0-9a-f]{64}$/)
    expect(secretsOf(w, name).length).toBe(2)
    beat(w, name)
    register(w, name)
    await w.clock.advance(1_000)
    expect(secretsOf(w, name)).toEqual([])
  })

  test('are good once: a second key is denied', async () => {
    const { w, names } = await fleetOf(1)
    const [name = ''] = names
    const token = tokenOf(w, name)
    expect(await withToken(w, name, token)).toMatch(/^Approved/)
    expect(await withToken(w, name, token)).toMatch(/^Denied: .*used already/)
  })

  test('are good once: of two keys that ask together, one is approved', async () => {
    const { w, names } = await fleetOf(1)
    const [name = ''] = names
    const answers = await Promise.all([withToken(w, name), withToken(w, name)])
    expect(answers.map((a) => a.slice(0, a.indexOf(':'))).toSorted()).toEqual(['Approved', 'Denied'])
  })

  test('of another machine are denied', async () => {
    const { w, names } = await fleetOf(2)
    const [a = '', b = ''] = names
    expect(await withToken(w, a, tokenOf(w, b))).toMatch(/^Denied: .*another machine/)
  })

  test('are issued again when they expire unused, and the host learns it', async () => {
    const { w, names } = await fleetOf(1)
    const [name = ''] = names
    const first = tokenOf(w, name)
    await w.clock.advance(16 * 60_000)
    const second = tokenOf(w, name)
    expect(second).not.toBe(first)
    const text = (s: string | undefined) => Buffer.from(s ?? '', 'base64').toString()
    for (const s of secretsOf(w, name)) {
      const data = s['data'] as Record<string, string>
      expect(`${text(data['token-id'])}.${text(data['token-secret'])}`).toBe(second)
    }
  })
})

test('F16 a clock that is set forward ends a token; its host has the next one soon', async () => {
  const { w, names } = await fleetOf(1)
  const [name = ''] = names
  const first = tokenOf(w, name)
  w.clock.jumpWall(2 * 3_600_000)
  await w.clock.advance(130_000)
  expect(tokenOf(w, name)).not.toBe(first)
})

describe('S26 a host that is let back', () => {
  const readmitted = (w: TestWorld, name: string, token: boolean) =>
    w.fake.poke(
      machineType,
      { name },
      {
        metadata: {
          annotations: {
            ...w.machine(name)?.metadata.annotations,
            [ANNOTATIONS.readmit]: readmission(w.machine(name) as Machine, w.clock.now() + 3_600_000, token),
          },
        },
      },
    )
  const joined = async () => {
    const { w, names } = await fleetOf(1)
    const [name = ''] = names
    expect(await withToken(w, name)).toMatch(/^Approved/)
    beat(w, name)
    register(w, name)
    await w.clock.advance(1_000)
    return { w, name }
  }

  test('whose agent lost its identity gets a new token from its provider, and joins with a new key', async () => {
    const { w, name } = await joined()
    expect(w.hosts.get(`process://${name}`)?.request.joinsAgain).toBeUndefined()
    readmitted(w, name, true)
    await w.clock.advance(10_000)
    expect(w.hosts.get(`process://${name}`)?.request.joinsAgain).toBe(true)
    expect(await withToken(w, name)).toMatch(/^Approved/)
  })

  const old = (name: string) => [AGENTS_GROUP, agentNodeGroup(name), machineUidGroup('uid-of-before')]

  test('with the certificate of an earlier Machine waits until a person says so, and is back once', async () => {
    const { w, names } = await fleetOf(1)
    const [name = ''] = names
    expect(await ask(w, name, agentUser(name), old(name))).toMatch(/^Pending/)
    readmitted(w, name, false)
    await w.clock.advance(6_000)
    expect(await ask(w, name, agentUser(name), old(name))).toMatch(/^(Approved|Pending)/)
    expect(recordedKey(w.machine(name) as Machine)).toBeDefined()
    expect(await ask(w, name, agentUser(name), old(name))).toMatch(/^Pending/)
  })

  test('by a token gets one that the provider learns, and it replaces the key once', async () => {
    const { w, name } = await joined()
    expect(secretsOf(w, name)).toEqual([])
    const before = recordedKey(w.machine(name) as Machine)
    readmitted(w, name, true)
    await w.clock.advance(2_000)
    const token = tokenOf(w, name)
    expect(secretsOf(w, name).length).toBe(2)
    expect(await withToken(w, name, token)).toMatch(/^Approved/)
    await w.clock.advance(1_000)
    expect(recordedKey(w.machine(name) as Machine)).not.toBe(before)
    expect(await withToken(w, name, token)).toMatch(/^Denied/)
  })

  test('reads its certificate with that token, however long the signer takes, and the token ends with its time', async () => {
    const { w, name } = await joined()
    readmitted(w, name, true)
    await w.clock.advance(2_000)
    expect(await withToken(w, name)).toMatch(/^Approved/)
    // Its agent reports with its old certificate in the meantime. Another leader finds the same.
    beat(w, name)
    await w.clock.advance(10 * 60_000)
    expect(secretsOf(w, name).length).toBe(2)
    await w.clock.advance(6 * 60_000)
    expect(secretsOf(w, name)).toEqual([])
  })
})

describe('F47 a machine that is deleted while its agent waits for its certificate', () => {
  const NODE = 'db-1'
  const imported = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: NODE },
    spec: { channel: 'Agent', provider: { name: 'static' } },
  }
  const isAnswer = { verbs: ['update'], kind: 'CertificateSigningRequest', subresource: 'approval' } as const

  /** Its key is on record, and the answer is delayed until `answered` is called. */
  async function recorded(): Promise<{ readonly w: TestWorld; readonly answered: () => Promise<string> }> {
    const provider = new StaticProvider({ notes: notesInMemory(), clock: systemClock })
    const w = await machineWorld({ providers: { static: provider } })
    w.fake.plant(machineType, imported)
    await w.clock.advance(2_000)
    w.fake.faults = onEveryNthCall(isAnswer, 1, { kind: 'refuse', when: 'before', code: 503 })
    const answer = withToken(w, NODE, handedOver(w))
    for (let i = 0; i < 100 && recordedKey(w.machine(NODE) as Machine) === undefined; i++) await settled(w)
    expect(recordedKey(w.machine(NODE) as Machine)).toBeDefined()
    return {
      w,
      answered: () => {
        w.fake.faults = noFaults
        return answer
      },
    }
  }
  const handedOver = (w: TestWorld): string => {
    const copy = w.fake.all(secretType).find((s) => s.metadata.namespace === JOIN_NAMESPACE)
    return copy === undefined ? '' : (tokenText(copy) ?? '')
  }
  const settled = async (w: TestWorld): Promise<void> => {
    await w.clock.advance(100)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const agentSays = (w: TestWorld, agent: object) =>
    w.fake.poke(machineType, { name: NODE }, { status: { agent } }, 'status')

  test.each([
    ['deleted', (w: TestWorld) => w.fake.uproot(machineType, { name: NODE })],
    ['only observed', (w: TestWorld) => w.fake.poke(machineType, { name: NODE }, { spec: { channel: 'Observe' } })],
  ])('gives it to the key that is on record, with a token that ends when the agent reports (%s)', async (_, end) => {
    const { w, answered } = await recorded()
    const token = handedOver(w)
    end(w)
    await w.clock.advance(2_000)
    expect(await answered()).toMatch(/^Approved/)
    expect(secretsOf(w, NODE)).toHaveLength(2)
    expect(await withToken(w, NODE, token)).toMatch(/^Denied/)
    agentSays(w, { version: '0.1.0', phase: 'Leaving' })
    await w.clock.advance(2_000)
    expect(secretsOf(w, NODE)).toEqual([])
    agentSays(w, { version: '0.1.0', phase: 'Left' })
    await w.clock.advance(10_000)
    expect(w.machine(NODE)?.metadata.finalizers ?? []).toEqual([])
  })

  test('keeps that token no longer than it is good', async () => {
    const { w, answered } = await recorded()
    w.fake.uproot(machineType, { name: NODE })
    expect(await answered()).toMatch(/^Approved/)
    await w.clock.advance(14 * 60_000)
    expect(secretsOf(w, NODE)).toHaveLength(2)
    await w.clock.advance(60_000)
    expect(secretsOf(w, NODE)).toEqual([])
  })
})

describe('a new term', () => {
  /** As if another leader starts: it does not know which tokens its predecessor created and deleted. */
  async function begun(w: TestWorld): Promise<void> {
    const client = w.fake.client({ actor: 'second' })
    const { clock } = w
    const own = { client, clock, random: seededRandom(3), log: silentLogger }
    const informers = createInformers(own)
    const events = { record: () => undefined, flush: async () => undefined }
    createTokenKeeper({ ...own, informers, metrics: createMetrics(), events }).start()
    informers.start()
    await clock.advance(3_000)
    void informers.stop()
  }

  async function allJoined(): Promise<{ readonly w: TestWorld; readonly names: readonly string[] }> {
    const { w, names } = await fleetOf(3)
    for (const name of names) {
      expect(await withToken(w, name)).toMatch(/^Approved/)
      register(w, name)
      beat(w, name)
    }
    await w.clock.advance(5_000)
    for (const name of names) expect(secretsOf(w, name)).toEqual([])
    return { w, names }
  }

  test('deletes tokens that the term before had handed over and not deleted', async () => {
    const { w, names } = await allJoined()
    const [name = ''] = names
    const m = w.machine(name) as Machine
    const token = tokenFor(m, tokenId(m.metadata.uid ?? '', 0), 'secret', w.clock.now())
    for (const left of [token, handOverOf(token, m)]) w.fake.plant(secretType, left)
    expect(secretsOf(w, name)).toHaveLength(2)
    await begun(w)
    expect(secretsOf(w, name)).toEqual([])
  })
})
