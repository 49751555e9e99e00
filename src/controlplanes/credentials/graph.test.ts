// Whatever input is rotated, nothing stale remains and nothing changes twice; lagging servers and agents can always reach each other.
import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { credentials, type CredentialInputs } from './graph.ts'
import { bundleOf, leafIn, rootIn, signerOf, type Held } from './held.ts'
import { carryOut } from './make.ts'
import { certificatePrint } from './prints.ts'
import {
  ADMIN_LEAF,
  CLUSTER_AUTHORITY,
  EMBEDDED_RECIPE,
  HUB_LEAF,
  kubeconfigName,
  SERVER_LEAF,
  SYNC_LEAF,
  TOKEN_KEYS,
  type Recipe,
} from './recipe.ts'

const DAY = 86_400_000
const START = Date.UTC(2030, 0, 1)
/** Enough for any chain of items: each round enables the next. */
const MOST_ROUNDS = 20

/** As in a control plane with its own etcd. */
const TWO_AUTHORITIES: Recipe = {
  ...EMBEDDED_RECIPE,
  authorities: [
    ...EMBEDDED_RECIPE.authorities,
    { name: 'etcd-ca', commonName: 'etcd-ca', days: 3_650, trustedBy: 'Servers' },
  ],
  leaves: [
    ...EMBEDDED_RECIPE.leaves,
    { name: 'etcd-client', authority: 'etcd-ca', usage: 'client', commonName: 'kube-apiserver', days: 90 },
  ],
}

const inputsOf = (more: Partial<CredentialInputs> = {}): CredentialInputs => ({
  recipe: TWO_AUTHORITIES,
  endpoint: 'https://10.0.0.1:6443',
  hosts: ['api.example.org'],
  declared: {},
  servers: { total: 0, running: [] },
  agents: [],
  ...more,
})

function after(held: Held, inputs: CredentialInputs, now: number): Held | undefined {
  const [order] = credentials(inputs, now, held).orders
  if (order === undefined) return undefined
  const { [order.name]: _before, ...others } = held
  const item = carryOut(order, now, held)
  return item === undefined ? others : { ...others, [order.name]: item }
}

/** Everything possible without waiting: servers and agents follow at once. */
function settled(inputs: CredentialInputs, now: number, start: Held = {}): Held {
  let held = start
  for (let writes = 0; writes < 200; writes++) {
    const next = after(held, inputs, now)
    if (next === undefined) return held
    held = next
  }
  throw new Error('it never settles')
}

const isSignedBy = (certificate: string, authority: string): boolean =>
  new X509Certificate(certificate).verify(new X509Certificate(authority).publicKey)

function staleItems(inputs: CredentialInputs, held: Held): readonly string[] {
  const { recipe } = inputs
  const leaves = recipe.leaves.filter(({ name, authority }) => {
    const [leaf, root] = [leafIn(held, name), rootIn(held, authority)]
    const signer = root && signerOf(root)
    return leaf === undefined || signer === undefined || !isSignedBy(leaf.certificate, signer.open)
  })
  const configs = recipe.kubeconfigs.filter(({ name, leaf, authority }) => {
    const [config, root, client] = [held[name], rootIn(held, authority), leafIn(held, leaf)]
    if (config?.kind !== 'Kubeconfig' || root === undefined || client === undefined) return true
    const parts = [bundleOf(root), client.certificate, client.key].map((pem) => Buffer.from(pem).toString('base64'))
    return !config.text.includes(inputs.endpoint) || parts.some((part) => !config.text.includes(part))
  })
  return [...leaves, ...configs].map(({ name }) => name)
}

const MADE = settled(inputsOf(), START)

describe('the credentials of a new cluster', () => {
  test('are made once, and with them nothing is ordered', () => {
    const graph = credentials(inputsOf(), START, MADE)
    expect(Object.keys(MADE).toSorted()).toEqual(
      [
        ADMIN_LEAF,
        SERVER_LEAF,
        CLUSTER_AUTHORITY,
        'etcd-ca',
        'etcd-client',
        HUB_LEAF,
        kubeconfigName(ADMIN_LEAF),
        kubeconfigName(HUB_LEAF),
        kubeconfigName(SYNC_LEAF),
        TOKEN_KEYS,
        SYNC_LEAF,
      ].toSorted(),
    )
    expect([graph.orders, graph.rotations, staleItems(inputsOf(), MADE)]).toEqual([[], [], []])
  })

  test('serve the endpoint under all its names', () => {
    const names = new X509Certificate(leafIn(MADE, SERVER_LEAF)?.certificate ?? '').subjectAltName
    expect(names?.split(', ')).toEqual(
      expect.arrayContaining(['IP Address:10.0.0.1', 'DNS:api.example.org', 'DNS:kubernetes.default.svc']),
    )
  })

  test('are renewed at two thirds of their life, and what holds them with them', () => {
    const due = credentials(inputsOf(), START, MADE).renewAt ?? 0
    expect(Math.round((due - START) / DAY)).toBe(60)
    expect(credentials(inputsOf(), due - 60_000, MADE).orders).toEqual([])
    const later = settled(inputsOf(), due, MADE)
    const changed = Object.keys(later).filter((name) => later[name] !== MADE[name])
    const roots = [CLUSTER_AUTHORITY, 'etcd-ca', TOKEN_KEYS]
    expect(changed.toSorted()).toEqual(
      Object.keys(MADE)
        .filter((name) => !roots.includes(name))
        .toSorted(),
    )
    expect(staleItems(inputsOf(), later)).toEqual([])
  })

  test('F16 that a clock far ahead renewed are made again when it is right again, once, under the same authorities', () => {
    const ahead = START + 300 * DAY
    const ofFuture = settled(inputsOf(), ahead, MADE)
    expect(credentials(inputsOf(), ahead, ofFuture).orders).toEqual([])
    const back = settled(inputsOf(), START + DAY, ofFuture)
    for (const { name } of TWO_AUTHORITIES.leaves) {
      const { validFromDate } = new X509Certificate(leafIn(back, name)?.certificate ?? '')
      expect(validFromDate.getTime()).toBeLessThanOrEqual(START + DAY)
    }
    expect(back[CLUSTER_AUTHORITY]).toBe(ofFuture[CLUSTER_AUTHORITY])
    expect(credentials(inputsOf(), START + DAY, back).orders).toEqual([])
    expect(staleItems(inputsOf(), back)).toEqual([])
  })

  test('that the recipe no longer has are removed', () => {
    const held = settled(inputsOf({ recipe: EMBEDDED_RECIPE }), START, MADE)
    expect(Object.keys(held).filter((name) => name.startsWith('etcd'))).toEqual([])
  })
})

type Change = (inputs: CredentialInputs) => CredentialInputs

const raise =
  (name: string): Change =>
  (inputs) => ({ ...inputs, declared: { ...inputs.declared, [name]: (inputs.declared[name] ?? 1) + 1 } })

const CHANGES: Readonly<Record<string, Change>> = {
  endpoint: (inputs) => ({ ...inputs, endpoint: `${inputs.endpoint.slice(0, -1)}4` }),
  hosts: (inputs) => ({ ...inputs, hosts: [...inputs.hosts, `name-${inputs.hosts.length}.example.org`] }),
  authority: raise(CLUSTER_AUTHORITY),
  'authority of etcd': raise('etcd-ca'),
  'token keys': raise(TOKEN_KEYS),
  'certificate of the server': raise(SERVER_LEAF),
  'certificate of the hub': raise(HUB_LEAF),
  'certificate of sync': raise(SYNC_LEAF),
  'certificate of the administrator': raise(ADMIN_LEAF),
  'certificate for etcd': raise('etcd-client'),
}

/** Advances time whenever only time is missing. */
function followed(inputs: CredentialInputs, start: number, from: Held): { readonly held: Held; readonly now: number } {
  let [held, now] = [settled(inputs, start, from), start]
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const { rotations } = credentials(inputs, now, held)
    if (rotations.length === 0) return { held, now }
    now = Math.max(now, ...rotations.flatMap(({ until }) => until ?? []))
    held = settled(inputs, now, held)
  }
  throw new Error('a rotation never ends')
}

describe('whichever input changes', () => {
  test.each(Object.keys(CHANGES))('%s: no stale item is left, and a second look changes nothing', (name) => {
    const inputs = CHANGES[name]?.(inputsOf()) ?? inputsOf()
    const { held, now } = followed(inputs, START, MADE)
    expect(held).not.toEqual(MADE)
    expect(staleItems(inputs, held)).toEqual([])
    expect(credentials(inputs, now, held).orders).toEqual([])
    expect(settled(inputs, now, held)).toBe(held)
  })

  test('several changes, each cut off after any number of writes, end like one change that nothing cut off', () => {
    const names = Object.keys(CHANGES)
    fc.assert(
      fc.property(
        fc.array(fc.record({ change: fc.constantFrom(...names), writes: fc.nat({ max: 6 }) }), { maxLength: 5 }),
        (steps) => {
          let [held, inputs] = [MADE, inputsOf()]
          for (const { change, writes } of steps) {
            inputs = CHANGES[change]?.(inputs) ?? inputs
            for (let n = 0; n < writes; n++) held = after(held, inputs, START) ?? held
          }
          const { held: end, now } = followed(inputs, START, held)
          expect(staleItems(inputs, end)).toEqual([])
          expect(credentials(inputs, now, end).orders).toEqual([])
          expect(Object.keys(end).toSorted()).toEqual(Object.keys(MADE).toSorted())
          // The newest generation was created for the declared number.
          for (const name of [CLUSTER_AUTHORITY, 'etcd-ca', TOKEN_KEYS]) {
            const generations = rootIn(end, name)?.generations ?? []
            expect(generations.map(({ declared }) => declared)).toEqual([inputs.declared[name] ?? 1])
          }
        },
      ),
      { numRuns: 25 },
    )
  })
})

describe('a rotation waits for a number that is shown', () => {
  const agents = (trusting: number, signed: number, held: Held) => {
    const prints = (rootIn(held, CLUSTER_AUTHORITY)?.generations ?? []).map(({ open }) => certificatePrint(open))
    const [oldest = '', newest = ''] = [prints[0], prints.at(-1)]
    return [1, 2, 3].map((n) => ({
      machine: `m-${n}`,
      authorities: n <= trusting ? prints : [oldest],
      signedBy: n <= signed ? newest : oldest,
    }))
  }
  const rotated = raise(CLUSTER_AUTHORITY)(inputsOf({ recipe: EMBEDDED_RECIPE, servers: { total: 2, running: [] } }))
  const first = settled({ ...rotated, declared: {} }, START)

  test('servers, then agents that trust both and a quarter of an hour, then agents with a new certificate and another quarter', () => {
    const late = START + DAY
    let held = settled(rotated, START, first)
    const shown = (inputs: CredentialInputs, now: number) => credentials(inputs, now, held).rotations
    expect(shown(rotated, late)).toEqual([
      {
        name: 'ca',
        phase: 'Distributing',
        since: START,
        waitsFor: { what: 'servers', seen: 0, of: 2, missing: [] },
      },
    ])
    const digest = credentials(rotated, late, held).serverDigest ?? ''
    const served = { ...rotated, servers: { total: 2, running: [digest, digest] }, agents: agents(1, 0, held) }
    expect(shown(served, late)[0]?.waitsFor).toEqual({ what: 'agents', seen: 1, of: 3, missing: ['m-2', 'm-3'] })
    expect(credentials(served, late, held).orders).toEqual([])
    const trusted = { ...served, agents: agents(3, 0, held) }
    expect(shown(trusted, START)[0]).toMatchObject({ phase: 'Distributing', until: START + 15 * 60_000 })
    held = settled(trusted, late, held)
    expect(rootIn(held, CLUSTER_AUTHORITY)?.signs).toBe(2)
    // The old key is deleted first; its certificate stays trusted for a while.
    expect(rootIn(held, CLUSTER_AUTHORITY)?.generations.map(({ key }) => key !== undefined)).toEqual([false, true])
    const now = credentials(trusted, late, held).serverDigest ?? ''
    const reissued = { ...trusted, servers: { total: 2, running: [now, now] }, agents: agents(3, 2, held) }
    expect(shown(reissued, late)[0]).toMatchObject({
      phase: 'Reissuing',
      waitsFor: { what: 'agents', seen: 2, of: 3, missing: ['m-3'] },
    })
    const followed = { ...reissued, agents: agents(3, 3, held) }
    expect(shown(followed, late)[0]).toMatchObject({ phase: 'Reissuing', until: late + 15 * 60_000 })
    held = settled(followed, late, held)
    expect(rootIn(held, CLUSTER_AUTHORITY)?.generations).toHaveLength(2)
    held = settled(followed, late + 15 * 60_000, held)
    expect(rootIn(held, CLUSTER_AUTHORITY)?.generations.map(({ number }) => number)).toEqual([2])
  })

  test('agents that could not be asked are never enough, for a cluster without machines either', () => {
    const held = settled(rotated, START, first)
    const digest = credentials(rotated, START, held).serverDigest ?? ''
    const inputs = { ...rotated, servers: { total: 1, running: [digest] }, agents: undefined }
    const { orders, rotations } = credentials(inputs, START + 30 * DAY, held)
    expect([orders, rotations[0]?.waitsFor?.isUnknown]).toEqual([[], true])
  })

  test('servers that cannot be asked are never enough, also years later', () => {
    const inputs = inputsOf({ servers: undefined, agents: undefined })
    let held = settled(inputs, START)
    const signing = () => inputs.recipe.authorities.map(({ name }) => [name, rootIn(held, name)?.signs])
    const before = signing()
    held = settled(inputs, START + 2_500 * DAY, held)
    expect(signing()).toEqual(before)
    const { rotations } = credentials(inputs, START + 2_600 * DAY, held)
    expect(rotations.map(({ phase, waitsFor }) => [phase, waitsFor?.isUnknown])).toEqual(
      before.map(() => ['Distributing', true]),
    )
  })

  test('token keys sign once all servers verify with them, and old ones stay until their tokens have expired', () => {
    const inputs = raise(TOKEN_KEYS)(inputsOf({ recipe: EMBEDDED_RECIPE, servers: { total: 2, running: [] } }))
    let held = settled(inputs, START, settled({ ...inputs, declared: {} }, START))
    const signs = () => rootIn(held, TOKEN_KEYS)?.signs
    const served = (count: number, now: number) => {
      const digest = credentials(inputs, now, held).serverDigest ?? ''
      const running = Array.from({ length: count }, () => digest)
      const given = { ...inputs, servers: { total: 2, running } }
      held = settled(given, now, held)
      return credentials(given, now, held).rotations
    }
    expect([served(1, START)[0]?.waitsFor?.seen, signs()]).toEqual([1, 1])
    served(2, START)
    expect(signs()).toBe(2)
    expect(served(2, START)).toEqual([{ name: TOKEN_KEYS, phase: 'Reissuing', since: START, until: START + 366 * DAY }])
    expect(rootIn(held, TOKEN_KEYS)?.generations).toHaveLength(2)
    // Certificates are due by then too: servers run with them first.
    served(2, START + 366 * DAY)
    expect(served(2, START + 366 * DAY)).toEqual([])
    expect(rootIn(held, TOKEN_KEYS)?.generations).toHaveLength(1)
  })

  test('an agent that reports nothing is waited for', () => {
    const held = settled(rotated, START, first)
    const digest = credentials(rotated, START, held).serverDigest ?? ''
    const inputs = { ...rotated, servers: { total: 1, running: [digest] }, agents: [{ machine: 'old-agent' }] }
    expect(credentials(inputs, START + 30 * DAY, held).rotations[0]?.waitsFor?.missing).toEqual(['old-agent'])
  })

  test('kubelets are waited for in both phases, behind agents that follow, and one that is unknown never follows', () => {
    const late = START + DAY
    let held = settled(rotated, START, first)
    const [oldest = '', newest = ''] = (rootIn(held, CLUSTER_AUTHORITY)?.generations ?? []).map(({ open }) =>
      certificatePrint(open),
    )
    type Trust = { readonly authorities?: readonly string[]; readonly signedBy?: string }
    const seen = (agent: Trust, kubelet: Trust) => {
      const digest = credentials(rotated, late, held).serverDigest ?? ''
      const servers = { total: 1, running: [digest] }
      const inputs = {
        ...rotated,
        servers,
        agents: [
          { machine: 'm-1', ...agent, kubelet },
          { machine: 'm-2', ...agent },
        ],
      }
      const { orders, rotations } = credentials(inputs, late, held)
      return { inputs, orders: orders.length, waitsFor: rotations[0]?.waitsFor }
    }
    const both = { authorities: [oldest, newest], signedBy: oldest }
    const kubelet = { what: 'agents', seen: 1, of: 2, missing: ['the kubelet of m-1'], kubelets: 1 }
    const agents = { what: 'agents', seen: 0, of: 2, missing: ['m-1', 'm-2'] }
    for (const behind of [{ authorities: [oldest], signedBy: oldest }, { signedBy: 'None' }, {}]) {
      expect(seen(both, behind)).toMatchObject({ orders: 0, waitsFor: kubelet })
      // Only remaining work is listed.
      expect(seen({ ...both, authorities: [oldest] }, behind)).toMatchObject({ orders: 0, waitsFor: agents })
    }
    const { inputs, waitsFor } = seen(both, both)
    expect(waitsFor).toBeUndefined()
    held = settled(inputs, late, held)
    expect(rootIn(held, CLUSTER_AUTHORITY)?.signs).toBe(2)
    const renewed = { ...both, signedBy: newest }
    for (const behind of [both, { authorities: [oldest, newest] }, { signedBy: 'None' }, {}])
      expect(seen(renewed, behind)).toMatchObject({ orders: 0, waitsFor: kubelet })
    for (const following of [renewed, { ...both, signedBy: 'None' }])
      expect(seen(renewed, following).waitsFor).toBeUndefined()
  })

  test('an authority in the last third of its life is rotated without a commit', () => {
    const inputs = inputsOf({ recipe: EMBEDDED_RECIPE })
    const later = START + 2_500 * DAY
    const { held, now } = followed(inputs, later, settled(inputs, START))
    expect(rootIn(held, CLUSTER_AUTHORITY)?.generations.map(({ number }) => number)).toEqual([2])
    expect(credentials(inputs, now, held).orders).toEqual([])
  })
})

/** What a server runs with. */
interface Given {
  readonly digest: string
  readonly trusted: readonly string[]
  readonly leaf: string
  readonly signer: string
  readonly tokens: readonly string[]
  readonly signs: string
}

interface Agent {
  readonly trusted: readonly string[]
  readonly signedBy: string
  /** The key that signed its newest token, and when. */
  readonly token: string
  readonly tokenAt: number
}

function givenBy(held: Held, digest: string): Given {
  const [root, keys] = [rootIn(held, CLUSTER_AUTHORITY), rootIn(held, TOKEN_KEYS)]
  if (root === undefined || keys === undefined) throw new Error('incomplete')
  return {
    digest,
    trusted: root.generations.map(({ open }) => certificatePrint(open)),
    leaf: root.generations
      .filter(({ open }) => isSignedBy(leafIn(held, SERVER_LEAF)?.certificate ?? '', open))
      .map(({ open }) => certificatePrint(open))
      .join(),
    signer: certificatePrint(signerOf(root)?.open ?? ''),
    tokens: keys.generations.map(({ open }) => open),
    signs: signerOf(keys)?.open ?? '',
  }
}

const trustOf = (agent: Agent | undefined) => ({
  authorities: agent?.trusted ?? [],
  signedBy: agent?.signedBy ?? '',
})

test('servers, agents and kubelets that lag behind in any order can always reach each other, and the rotation ends', () => {
  const recipe = EMBEDDED_RECIPE
  const lives = recipe.keySets[0]?.signedForMs ?? 0
  const event = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'Write' as const }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('Serve' as const), server: fc.nat({ max: 1 }) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom('Trust' as const, 'Renew' as const, 'Token' as const),
        agent: fc.nat({ max: 2 }),
        server: fc.nat({ max: 1 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('Wait' as const), days: fc.constantFrom(0.02, 1, 200) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('Raise' as const), name: fc.constantFrom('ca', TOKEN_KEYS) }),
    },
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      let now = START
      let held = settled(inputsOf({ recipe }), START)
      let declared: Readonly<Record<string, number>> = {}
      const start = givenBy(held, credentials(inputsOf({ recipe }), START, held).serverDigest ?? '')
      const servers: Given[] = [start, start]
      const fresh = { trusted: start.trusted, signedBy: start.signer, token: start.signs, tokenAt: START }
      const agents: Agent[] = [fresh, fresh, fresh]
      const inputs = (): CredentialInputs =>
        inputsOf({
          recipe,
          declared,
          servers: { total: 2, running: servers.map(({ digest }) => digest) },
          // The last is the kubelet of the machine before it.
          agents: [
            { machine: 'm-0', ...trustOf(agents[0]) },
            { machine: 'm-1', ...trustOf(agents[1]), kubelet: trustOf(agents[2]) },
          ],
        })
      const serve = (n: number): void => {
        const { serverDigest } = credentials(inputs(), now, held)
        if (serverDigest !== undefined) servers[n] = givenBy(held, serverDigest)
      }
      const agentDoes = (kind: 'Trust' | 'Renew' | 'Token', n: number, at: number): void => {
        const [agent, server] = [agents[n], servers[at]]
        if (agent === undefined || server === undefined) return
        if (kind === 'Trust') agents[n] = { ...agent, trusted: server.trusted }
        else if (kind === 'Renew') agents[n] = { ...agent, signedBy: server.signer }
        else agents[n] = { ...agent, token: server.signs, tokenAt: now }
      }
      const reach = (): void => {
        for (const server of servers)
          for (const agent of agents) {
            expect(agent.trusted).toContain(server.leaf)
            expect(server.trusted).toContain(agent.signedBy)
            if (now < agent.tokenAt + lives) expect(server.tokens).toContain(agent.token)
          }
      }
      for (const e of events) {
        if (e.kind === 'Write') held = after(held, inputs(), now) ?? held
        else if (e.kind === 'Serve') serve(e.server)
        else if (e.kind === 'Wait') now += e.days * DAY
        else if (e.kind === 'Raise') declared = { ...declared, [e.name]: (declared[e.name] ?? 1) + 1 }
        else agentDoes(e.kind, e.agent, e.server)
        reach()
      }
      // From any state it finishes once all follow.
      for (let round = 0; round < 60 && credentials(inputs(), now, held).rotations.length > 0; round++) {
        held = settled(inputs(), now, held)
        for (const n of [0, 1]) serve(n)
        for (const n of [0, 1, 2]) for (const kind of ['Trust', 'Renew', 'Token'] as const) agentDoes(kind, n, 0)
        now += 40 * DAY
        reach()
      }
      expect(credentials(inputs(), now, held).rotations).toEqual([])
    }),
    { numRuns: 20 },
  )
})
