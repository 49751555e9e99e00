// A console for people who sign in, over an embedded API server: accounts with tokens and rights, and a way to play an API server that trusts an issuer.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { API_GROUP } from '#api/kind.ts'
import { startConsole } from '#console/server/console.ts'
import type { Page } from '#console/server/page-files.ts'
import type { ConnectAs, OwnClient } from '#console/server/sign-in/own-clients.ts'
import { OidcSignIn } from '#console/server/sign-in/oidc/code-flow.ts'
import { Issuer } from '#console/server/sign-in/oidc/issuer.ts'
import { ConsolePart } from '#programs/run/console-role.ts'
import { readConsoleFile } from '#programs/run/console-file.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { ApiError, statusFrom } from '#kube/errors.ts'
import { defined } from '#lib/defined.ts'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import type { Issuer as IssuerDouble } from '#test/doubles/issuer/issuer.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import { consoleWorld, NO_PAGE } from './console-world.ts'
import { Browser, type BrowserTls } from './plain-browser.ts'

export const HOST = 'console.example.org'
export const CLUSTER = 'test'

interface AtIssuer {
  readonly clock?: Clock
  readonly clientId?: string
  readonly clientSecret?: () => Promise<string>
  readonly page?: Page
}

export async function peopleWorld() {
  const world = await consoleWorld()
  const { admin, server } = world
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-people-'))
  const authority = await newAuthority('console-ca')
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const writePair = async (): Promise<string> => {
    const pair = await authority.server([HOST, '127.0.0.1'])
    writeFileSync(files.cert, pair.cert)
    writeFileSync(files.key, pair.key)
    return pair.cert
  }
  await writePair()
  const own: ConnectionConfig = {
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  }
  const parts: { stop(): Promise<unknown> }[] = []
  const tls: BrowserTls = { host: HOST, ca: authority.cert }

  return {
    ...world,
    authority,
    files,
    folder,
    writePair,
    tls,
    browser: (port: number, more: Partial<BrowserTls> = {}) => new Browser(port, { ...tls, ...more }),

    /** With the file as an operator writes it; `connection`: of the program itself. */
    async role(settings: object, connection = own, clock: Clock = systemClock) {
      const path = join(folder, `console-${parts.length}.json`)
      writeFileSync(path, JSON.stringify({ names: [HOST], ...files, ...settings }))
      const context = { clock, random: seededRandom(1), log: silentLogger }
      const file = readConsoleFile(path)
      const part = new ConsolePart({ at: { host: '127.0.0.1', port: 0 }, file, cluster: CLUSTER, connection, context })
      await part.start()
      parts.push(part)
      return { part, port: part.port ?? 0 }
    },

    /** Signs in at the double; the API server takes subject and groups of a good token for a user. */
    async atIssuer(
      double: Pick<IssuerDouble, 'url' | 'ca'>,
      { clock = systemClock, clientId = 'console', clientSecret, page = NO_PAGE }: AtIssuer = {},
    ) {
      const revoked = new Set<string>()
      const users = new Map<string, HttpKubeClient>()
      const connect: ConnectAs = (_, identity) => {
        if (identity.kind !== 'Tokens') return undefined
        const real = async (): Promise<HttpKubeClient> => {
          const isBad = ({ token }: { token: string }): boolean => revoked.has(token)
          let answer = await identity.next(false)
          if (isBad(answer)) answer = await identity.next(true)
          if (isBad(answer)) throw new ApiError(statusFrom(401, {}), { action: 'GET', target: '/' })
          const claims = JSON.parse(Buffer.from(answer.token.split('.')[1] ?? '', 'base64url').toString()) as {
            sub: string
            groups?: readonly string[]
          }
          const who = JSON.stringify([claims.sub, claims.groups])
          const user = users.get(who) ?? world.clientAs(claims.sub, claims.groups)
          users.set(who, user)
          return user
        }
        return new Proxy({} as OwnClient, {
          get: (_target, name) =>
            name === 'close'
              ? () => undefined
              : async (...args: readonly unknown[]) => {
                  const client = await real()
                  return Reflect.apply(client[name as 'raw'] as () => unknown, client, args)
                },
        })
      }
      const oidc = new OidcSignIn({
        issuer: new Issuer({ url: double.url, ca: double.ca, clientId, clock, ...defined({ clientSecret }) }),
        scopes: ['openid'],
        clusters: [CLUSTER],
        connect,
        clock,
        log: silentLogger,
      })
      const { readFile } = await import('node:fs/promises')
      const pair = async () => ({ cert: await readFile(files.cert, 'utf8'), key: await readFile(files.key, 'utf8') })
      const running = await startConsole({
        clients: new Map([[CLUSTER, admin]]),
        page,
        version: '0.0.0',
        host: '127.0.0.1',
        port: 0,
        names: [HOST, '127.0.0.1'],
        clock,
        random: seededRandom(1),
        log: silentLogger,
        signIn: { oidc, tls: { pair } },
      })
      parts.push(running)
      return { port: running.port, revoked }
    },

    /** The token of an account of its own. */
    async tokenOf(name: string, expirationSeconds = 3_600): Promise<string> {
      const namespace = 'default'
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }
      await admin.create(coreKind('ServiceAccount'), account).catch(() => undefined)
      const { text, status } = await admin.raw({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } },
      })
      if (status !== 201) throw new Error(`no token: ${text}`)
      return (JSON.parse(text) as { status: { token: string } }).status.token
    },

    /** `subject`: `user:ada`, `group:admins`, or the name of an account. */
    async allow(
      subject: string,
      resources: readonly string[],
      verbs: readonly string[],
      of = API_GROUP,
    ): Promise<void> {
      const group = 'rbac.authorization.k8s.io'
      const name = `${subject.replace(':', '-')}-${resources[0]?.replace('/', '-')}-${verbs[0]}`
      const [kind, who] = /^(user|group):(.*)$/.exec(subject)?.slice(1) ?? ['', subject]
      await admin.create(coreKind('ClusterRole'), {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRole',
        metadata: { name },
        rules: [{ apiGroups: [of], resources, verbs }],
      })
      const binding = {
        group,
        version: 'v1',
        kind: 'ClusterRoleBinding',
        plural: 'clusterrolebindings',
        namespaced: false,
      }
      await admin.create(binding, {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name },
        subjects: [
          kind === ''
            ? { kind: 'ServiceAccount', name: who, namespace: 'default' }
            : { kind: kind === 'user' ? 'User' : 'Group', apiGroup: group, name: who },
        ],
      })
    },

    async stop(): Promise<void> {
      for (const part of parts) await part.stop()
      await world.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type PeopleWorld = Awaited<ReturnType<typeof peopleWorld>>
