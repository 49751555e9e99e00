// An agent on a cluster that signs no certificates for clients and knows no bootstrap tokens: it joins with a service account, works with one, gets new tokens,
// comes back after its token ended, and loses it with its Machine. On the embedded server, and on a real control plane without signer.
import { createPrivateKey, randomUUID, sign } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { TokenPair } from '#agent/join/identity.ts'
import { newKey, requestToken } from '#agent/join/request.ts'
import { leaseType } from '#agent/node/types.ts'
import { nodeDir, pairFile, tokenFile } from '#agent/node-dir.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import {
  AGENTS_NAMESPACE,
  AGENT_ACCOUNTS_GROUP,
  ANNOTATIONS,
  SYSTEM_NAMESPACE,
  agentAccountName,
  agentAccountUser,
  agentLeaseName,
} from '#api/names.ts'
import { ownAuthority } from '#artifacts/own-authority.ts'
import { ArtifactsPart } from '#artifacts/role.ts'
import { createApiServer } from '#apiserver/api-server.ts'
import { accountType, joinAccountKey } from '#controllers/approver/accounts/join-accounts.ts'
import { revocation } from '#identity/agent-key.ts'
import { handOverKey, tokenText } from '#identity/join-token.ts'
import { readmission } from '#identity/readmitted.ts'
import type { TokenRhythm } from '#identity/token-life.ts'
import { isUnauthorized } from '#kube/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { secretType } from '#nodes/objects.ts'
import { recording } from '#test/support/rights/record.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { SIGNERLESS, startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { AgentBench, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

const HOST = '127.0.0.1'
/** The shortest that servers give; replaced as soon as it is in use. */
const RHYTHM: TokenRhythm = { lifeSeconds: 600, replaceAfterSeconds: 3, askAgainSeconds: 1 }
/** A kube-apiserver remembers for ten seconds that a token was good. */
const FORGOTTEN_MS = 60_000

interface Cluster {
  readonly url: string
  readonly ca: string
  readonly cert: string
  readonly key: string
  /** PEM: signs tokens of service accounts. */
  readonly tokenKey: string
  readonly issuer: string
  stop(): Promise<void>
}

async function embedded(): Promise<Cluster> {
  const server = await createApiServer({ ...recording })
  await server.listen()
  const { admin, tokenKey } = server.credentials
  const { url, ca } = server
  const stop = () => server.close()
  return { url, ca, cert: admin.certificate, key: admin.key, tokenKey, issuer: '', stop }
}

async function real(): Promise<Cluster> {
  const plane = await startControlPlane({ flags: SIGNERLESS, bare: true })
  const { url, ca, cert, key, pki } = plane
  const issuer = 'https://kubernetes.default.svc.cluster.local'
  return { url, ca, cert, key, tokenKey: readFileSync(pki.file('sa.key'), 'utf8'), issuer, stop: () => plane.stop() }
}

class AccountBench extends AgentBench {
  readonly #start: () => Promise<Cluster>
  readonly #stops: (() => unknown)[] = []
  cluster2: Cluster | undefined
  artifactsPort = 0
  artifactsCa = ''
  joinToken = ''

  constructor(start: () => Promise<Cluster>) {
    super()
    this.#start = start
  }

  get at(): Cluster {
    if (this.cluster2 === undefined) throw new Error('not started')
    return this.cluster2
  }

  #connection() {
    const { url, ca, cert, key } = this.at
    return { server: url, ca: { data: ca }, clientCertificate: { cert: { data: cert }, key: { data: key } } }
  }

  as(user: string): HttpKubeClient {
    const client = new HttpKubeClient({
      ...this.#connection(),
      impersonate: { user, groups: ['system:authenticated'] },
    })
    this.#stops.push(() => client.close())
    return client
  }

  withToken(token: string): HttpKubeClient {
    const client = new HttpKubeClient({ server: this.at.url, ca: { data: this.at.ca }, token: { data: token } })
    this.#stops.push(() => client.close())
    return client
  }

  protected override async serve(): Promise<void> {
    this.cluster2 = await this.#start()
    this.place = { url: this.at.url, ca: this.at.ca }
    const admin = new HttpKubeClient(this.#connection())
    this.client = admin
    this.#stops.push(() => admin.close())
    await installAll(admin, false)
    await this.startApprover()
  }

  async startApprover(): Promise<void> {
    const tools = { clock: systemClock, random: systemRandom, log: silentLogger }
    const part = await startApprover(this.as('kubenode:approver'), tools, {
      identity: 'serviceAccount',
      rhythm: RHYTHM,
    })
    this.#stops.unshift(() => part.stop(1_000))
  }

  async serveArtifacts(): Promise<void> {
    const client = this.as('kubenode:artifacts')
    const part = new ArtifactsPart({
      folder: join(this.folder, 'artifacts'),
      host: HOST,
      port: 0,
      certificate: { hosts: [HOST] },
      client,
      clock: systemClock,
      log: silentLogger,
    })
    await part.start()
    this.#stops.unshift(() => part.stop())
    this.artifactsPort = part.port ?? 0
    this.artifactsCa = (await ownAuthority(client)) ?? ''
  }

  async declare(name: string): Promise<Machine> {
    return this.client.create(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { channel: 'Agent', provider: { name: 'static' } },
    })
  }

  /** Made by the approver; a later one than before. */
  async handedOver(uid: string, before = ''): Promise<string> {
    const read = async () => {
      const secret = await this.client.get(secretType, handOverKey(uid))
      return (secret && tokenText(secret)) ?? ''
    }
    return eventually('a join token', read, (token) => token !== '' && token !== before)
  }

  override joinBundle() {
    return {
      ...super.joinBundle(),
      token: this.joinToken,
      form: 'serviceAccount',
      artifactBase: `https://${HOST}:${this.artifactsPort}/`,
      artifactCaData: Buffer.from(this.artifactsCa).toString('base64'),
    }
  }

  protected override async approve(): Promise<boolean> {
    return true
  }

  #defender: HttpKubeClient | undefined
  protected override defender(): HttpKubeClient {
    return (this.#defender ??= this.as('kubenode:defender'))
  }

  protected override async close(): Promise<void> {
    for (const stop of this.#stops) await stop()
    await this.cluster2?.stop()
  }

  get tokenPath(): string {
    return tokenFile(nodeDir(this.nodeFolder))
  }

  token(): TokenPair {
    return JSON.parse(readFileSync(this.tokenPath, 'utf8')) as TokenPair
  }

  /** As the server signs them, with other claims. */
  async forged(claims: object): Promise<string> {
    const { token } = this.token()
    const [head = '', body = ''] = token.split('.')
    const own = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
    const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { alg: string }
    const text = [
      { alg, typ: 'JWT' },
      { ...own, ...claims },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const key = createPrivateKey(this.at.tokenKey)
    const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
    return `${text}.${signature.toString('base64url')}`
  }

  async statusOf(token: string, path = `/apis/kubenode.io/v1alpha1/machines/${MACHINE}`): Promise<number> {
    const answer = this.withToken(token).raw({ method: 'GET', path })
    return answer.then(
      ({ status }) => status,
      (error: unknown) => {
        if (isUnauthorized(error)) return 401
        throw error
      },
    )
  }
}

const seconds = (ahead: number): number => Math.floor(Date.now() / 1_000) + ahead

describe.each([
  ['the embedded server', undefined, embedded],
  ['a real control plane without signer', whyNoPrograms(), real],
] as const)('S26 an agent with an account on %s', (_, whyNot, start) => {
  const bench = new AccountBench(start)
  let agent: ReturnType<AgentBench['run']> | undefined
  let uid = ''

  beforeAll(async () => {
    if (whyNot !== undefined) return
    await bench.start()
    await bench.serveArtifacts()
    uid = (await bench.declare(MACHINE)).metadata.uid ?? ''
    bench.machineUid = uid
    for (const version of ['1.0.0', '1.1.0']) await bench.publish(beaconRelease(bench.publisher, version))
    await bench.order({ version: '1.0.0' })
    bench.joinToken = await bench.handedOver(uid)
    bench.writeJoin()
    bench.writeConfig({ lease: '1s' })
    agent = bench.run()
  }, 300_000)

  afterAll(async () => {
    if (whyNot === undefined) await bench.stop()
  })

  beforeEach((context) => {
    if (whyNot !== undefined) context.skip(whyNot)
  })

  const log = (): string => (agent === undefined ? '' : bench.logOf(agent))
  const runs = (version: string) =>
    eventually(
      version,
      () => bench.component(),
      (c) => c?.state === 'Healthy' && c.version === version,
    ).catch((cause: unknown) => {
      throw new Error(log(), { cause })
    })
  const beats = async () => {
    const name = agentLeaseName(MACHINE)
    const lease = () => bench.client.get(leaseType, { namespace: SYSTEM_NAMESPACE, name })
    const first = await lease()
    await eventually('a heartbeat', lease, (l) => l?.metadata.resourceVersion !== first?.metadata.resourceVersion)
  }

  test('joins, registers, installs and reports without any certificate', async () => {
    await runs('1.0.0')
    expect(existsSync(pairFile(nodeDir(bench.nodeFolder)))).toBe(false)
    expect(statSync(bench.tokenPath).mode & 0o777).toBe(0o600)
    const review = await bench.withToken(bench.token().token).raw({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      headers: { 'content-type': 'application/json' },
    })
    const { status } = JSON.parse(review.text) as { status: { userInfo: { username: string; groups: string[] } } }
    expect(status.userInfo.username).toBe(agentAccountUser(uid))
    expect(status.userInfo.groups).toContain(AGENT_ACCOUNTS_GROUP)
    await beats()
  })

  test('gets the next token before the one that it has ends, and rolls a component with it', async () => {
    const first = bench.token().token
    await eventually(
      'the next token',
      () => bench.token().token,
      (token) => token !== first,
    )
    await bench.permit('p1', 'SwitchComponent', 'Granted')
    await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p1' } })
    await runs('1.1.0')
    expect(log()).toContain('token replaced')
  })

  test('a join token that was stolen is good for one key only', async () => {
    const client = bench.withToken(bench.joinToken)
    const wanted = { machine: MACHINE, node: MACHINE, uid }
    const stolen = requestToken(
      { client, clock: systemClock, signal: AbortSignal.timeout(60_000) },
      wanted,
      await newKey(),
    )
    await expect(stolen).rejects.toThrow(/used already/)
  })

  test('what is sealed for it is of no use to any other host', async () => {
    const path = `/agent-tokens/${uid}`
    const door = new HttpKubeClient({
      server: `https://${HOST}:${bench.artifactsPort}`,
      ca: { data: bench.artifactsCa },
    })
    const answer = await door.raw({ method: 'GET', path })
    expect([answer.status, answer.text.startsWith('v1.')]).toEqual([200, true])
    expect((await door.raw({ method: 'GET', path: `/agent-tokens/${randomUUID()}` })).status).toBe(404)
    door.close()
  })

  test('no server takes an expired token, or one that was made for another service', async () => {
    expect(await bench.statusOf(await bench.forged({ exp: seconds(300) }))).toBe(200)
    expect(
      await bench.statusOf(await bench.forged({ iat: seconds(-900), nbf: seconds(-900), exp: seconds(-300) })),
    ).toBe(401)
    expect(await bench.statusOf(await bench.forged({ aud: ['https://vault.example.org'] }))).toBe(401)
  })

  test('comes back by itself after its token ended while the host was off', async () => {
    agent?.kill('SIGKILL')
    if (agent !== undefined) await once(agent, 'exit')
    const ended = await bench.forged({ iat: seconds(-900), nbf: seconds(-900), exp: seconds(-300) })
    writeFileSync(bench.tokenPath, JSON.stringify({ ...bench.token(), token: ended }), { mode: 0o600 })
    agent = bench.run()
    await eventually(
      'another token',
      () => bench.token().token,
      (token) => token !== ended,
    ).catch((cause: unknown) => {
      throw new Error(log(), { cause })
    })
    await beats()
  })

  test('a deleted account is recreated, and the tokens of the old one stay invalid', async () => {
    const old = bench.token().token
    const key = { namespace: AGENTS_NAMESPACE, name: agentAccountName(uid) }
    const account = await bench.client.get(accountType, key)
    await bench.client.delete(accountType, key)
    const renewed = await eventually(
      'an account',
      () => bench.client.get(accountType, key),
      (a) => a !== undefined && a.metadata.uid !== account?.metadata.uid,
    )
    expect(renewed?.metadata.uid).not.toBe(account?.metadata.uid)
    await eventually(
      'the old token refused',
      () => bench.statusOf(old),
      (s) => s === 401,
      FORGOTTEN_MS,
    )
    await eventually(
      'a token of the new account',
      () => bench.statusOf(bench.token().token),
      (s) => s === 200,
    )
  })

  test('a revoked agent is refused everything, and its host returns with a join token that a person let it have', async () => {
    const thief = bench.token()
    const machine = (await bench.machine()) as Machine
    const annotate = (annotations: Readonly<Record<string, string>>) =>
      bench.client.patch(machineType, { name: MACHINE }, { type: 'merge', value: { metadata: { annotations } } })
    await annotate({ [ANNOTATIONS.revoked]: revocation(machine, Date.now(), 'stolen') })
    await eventually(
      'the token refused',
      () => bench.statusOf(thief.token),
      (s) => s === 401,
      FORGOTTEN_MS,
    )
    expect(
      await bench.client.get(accountType, { namespace: AGENTS_NAMESPACE, name: agentAccountName(uid) }),
    ).toBeUndefined()

    const before = bench.joinToken
    await annotate({
      [ANNOTATIONS.readmit]: readmission((await bench.machine()) as Machine, Date.now() + 600_000, true),
    })
    bench.joinToken = await bench.handedOver(uid, before)
    agent?.kill('SIGKILL')
    if (agent !== undefined) await once(agent, 'exit')
    bench.writeJoin()
    agent = bench.run()
    await eventually(
      'another key',
      () => bench.token().key,
      (key) => key !== thief.key,
    ).catch((cause: unknown) => {
      throw new Error(log(), { cause })
    })
    await beats()
    expect(await bench.statusOf(thief.token)).toBe(401)
  })

  test('with its Machine go account, token and join account, and nothing is left in the namespace', async () => {
    const { token } = bench.token()
    expect(await bench.statusOf(token)).toBe(200)
    await bench.client.delete(machineType, { name: MACHINE })
    await eventually(
      'the token refused',
      () => bench.statusOf(token),
      (s) => s === 401,
      FORGOTTEN_MS,
    )
    const left = async () => {
      const found = []
      for (const path of [
        `/api/v1/namespaces/${AGENTS_NAMESPACE}/serviceaccounts`,
        `/api/v1/namespaces/${AGENTS_NAMESPACE}/configmaps`,
        `/apis/rbac.authorization.k8s.io/v1/namespaces/${AGENTS_NAMESPACE}/roles`,
        `/apis/rbac.authorization.k8s.io/v1/namespaces/${AGENTS_NAMESPACE}/rolebindings`,
      ]) {
        const { items } = JSON.parse((await bench.client.raw({ method: 'GET', path })).text) as { items: unknown[] }
        found.push(
          ...items.filter((o) => isObject(o) && JSON.stringify(o['metadata']).includes(`"${agentAccountName(uid)}"`)),
        )
      }
      return found.length
    }
    await eventually('nothing left', left, (count) => count === 0)
    await eventually(
      'no join account',
      () => bench.client.get(accountType, joinAccountKey(uid)),
      (a) => a === undefined,
    )
  })
})
