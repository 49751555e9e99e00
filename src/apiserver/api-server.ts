// The embedded Kubernetes API server as one object: create, listen, close.
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { connectionsWithin, descriptorLimit } from '#lib/descriptors.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { silentLogger, type Logger } from '#lib/log.ts'
import { systemRandom, type Random } from '#lib/random.ts'
import { AdmissionChain } from './admission/chain.ts'
import { compiledPolicies, type CompiledPolicies } from './admission/compiled-policies.ts'
import { limitRanges } from './admission/limit-ranges.ts'
import { podAccounts } from './admission/pod-account.ts'
import { podSecurity } from './admission/pod-security/pod-security.ts'
import { PolicyAdmission } from './admission/policies.ts'
import { withCompiledExpressions } from './admission/policy-served.ts'
import { nodeRestriction } from './admission/node-restriction.ts'
import { escalationGuard } from './admission/rbac-escalation.ts'
import type { MayCall, ResolveService } from './admission/webhook-call.ts'
import { endpointsInTurn } from './admission/resolve-service.ts'
import { WebhookAdmission } from './admission/webhooks.ts'
import { authenticationChain, bootstrapTokens, byToken, serviceAccountTokens } from './auth/authenticate.ts'
import { Authorizer, type OnAllowed } from './auth/authorizer.ts'
import { acceptsEverybody, CertificateUsers, type AcceptsUser } from './auth/certificate-users.ts'
import { issueCertificate } from '#lib/x509/certificates.ts'
import { certificatesIn } from '#lib/x509/pem-list.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { newCredentials, trustedBy, type Credentials } from '#lib/x509/server-keys.ts'
import { NodeAuthorizer } from './auth/node-authorizer.ts'
import { TokenSigner } from './auth/tokens.ts'
import { bootstrap, publishAuthority } from './bootstrap/objects.ts'
import { nodeRules } from './bootstrap/roles.ts'
import { builtinKinds } from './builtin/all-kinds.ts'
import { DefinitionController } from './crd/controller.ts'
import { definitionServed } from './crd/definition-served.ts'
import { OWN_VERSION } from './discovery/documents.ts'
import { DEFAULT_LIMITS, withConnections, type Limits } from './flow/limits.ts'
import { WebhookConverter } from './crd/webhook-converter.ts'
import { noBootstrappers, type JudgeSubject } from './auth/judge-subject.ts'
import { makesAccounts, startLoops, type LoopChoice } from './loops/loops.ts'
import type { ReadPodLog, ServerParts } from './handlers/context.ts'
import type { MakeOpenPath } from './http/open-path.ts'
import { createHttpServer } from './http/server.ts'
import { builtinServed } from './registry/builtin-served.ts'
import { Registry } from './registry/registry.ts'
import { memoryStorage } from './storage/memory.ts'
import type { StorageBackend } from './storage/port.ts'
import { Store } from './storage/store.ts'
import { apiserverErrors } from './apiserver-errors.ts'

export interface ApiServerOptions {
  /** Where objects are kept; memory when absent. */
  readonly storage?: StorageBackend
  readonly clock?: Clock
  readonly random?: Random
  /** Certificates and keys; created when absent. */
  readonly credentials?: Credentials
  /** 127.0.0.1 when absent. */
  readonly host?: string
  /** Any free one when absent or 0. */
  readonly port?: number
  /** Of Kubernetes, as it reports it; our own when absent. */
  readonly version?: string
  /** More names and addresses for a serving certificate that is generated here. */
  readonly hosts?: readonly string[]
  /** The loops of a controller manager: all of them, none, or those named. */
  readonly loops?: LoopChoice
  /**
   * Pods run as an existing service account. When absent, only if the loop `accounts` makes the default account of each
   * namespace; set it to true where a controller manager does.
   */
  readonly podAccounts?: boolean
  /** Who may have a client certificate under which name; when absent, a client with a bootstrap token gets none. */
  readonly judgeSubject?: JudgeSubject
  /** Which client certificates are accepted, for example none of a revoked key; when absent, all that have not expired. */
  readonly acceptsUser?: AcceptsUser
  /** Called with each right that a client uses. */
  readonly onAllowed?: OnAllowed
  /** Answers one path for anonymous clients; without it there is none. */
  readonly openPath?: MakeOpenPath
  readonly log?: Logger
  /** What was compiled of admission policies; servers of one process may share it. */
  readonly policies?: CompiledPolicies
  /** Limits for clients; the defaults where absent. */
  readonly limits?: Partial<Limits>
  /** Where services of webhooks are reachable from here; without it, at their ready endpoints. */
  readonly resolveService?: ResolveService
  /** Where webhooks, those of conversions too, may be: anywhere without it. */
  readonly mayCall?: MayCall
  /** Reads logs of containers at their nodes; without it there are none. */
  readonly podLog?: ReadPodLog
}

export interface ApiServer {
  listen(): Promise<void>
  /** Closes connections and watches, waits for pending writes. */
  close(): Promise<void>
  /** https://127.0.0.1:port; known after listen. */
  readonly url: string
  /** Resolves when nothing can be stored any longer; connections are closed by then, since no write may be acknowledged. */
  readonly failed: Promise<unknown>
  /** PEM of all authorities that are trusted. */
  readonly ca: string
  readonly credentials: Credentials
  /** From the next connection on. Those that are open end when an authority is no longer trusted. */
  replaceCredentials(next: Credentials): Promise<void>
  adminKubeconfig(): string
}

export async function createApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { clock = systemClock, random = systemRandom, host = '127.0.0.1', port = 0, log = silentLogger } = options
  let credentials = options.credentials ?? newCredentials(clock.now(), [host, ...(options.hosts ?? [])])
  const store = new Store(options.storage ?? memoryStorage(), clock)
  const { policies = compiledPolicies() } = options
  const registry = new Registry([
    ...builtinKinds.map((k) => policies.definitions.checkedOnce(withCompiledExpressions(builtinServed(k), policies))),
    definitionServed(),
  ])
  const authorizer = new Authorizer(store, new NodeAuthorizer(store, nodeRules), options.onAllowed)
  const { resolveService = endpointsInTurn(store), mayCall } = options
  const webhooks = new WebhookAdmission({
    store,
    registry,
    authorizer,
    log,
    resolveService,
    mayCall,
  })
  const converter = new WebhookConverter(resolveService, mayCall)
  const signer = new TokenSigner(credentials.tokenKey, credentials.otherTokenKeys)
  const now = () => clock.now()
  const loopChoice = options.loops ?? 'all'
  const parts: ServerParts = {
    store,
    registry,
    authorizer,
    admission: new AdmissionChain([
      limitRanges(store),
      ...((options.podAccounts ?? makesAccounts(loopChoice)) ? [podAccounts({ store, clock, random })] : []),
      escalationGuard(authorizer),
      nodeRestriction(store),
      podSecurity({ store, log }),
      webhooks.mutatingLink,
      new PolicyAdmission({ store, registry, authorizer, compiled: policies.validating, log }),
      webhooks.validatingLink,
    ]),
    clock,
    random,
    uid: randomUUID,
    signer,
    get credentials() {
      return credentials
    },
    judgeSubject: options.judgeSubject ?? noBootstrappers,
    version: options.version ?? OWN_VERSION,
    ...(options.podLog !== undefined && { podLog: options.podLog }),
  }
  const { acceptsUser = acceptsEverybody } = options
  const certificateUsers = new CertificateUsers({
    now,
    accepts: (user) => acceptsUser(user, (resource, name) => store.get({ resource, namespace: '', name })?.value),
  })
  const authenticate = authenticationChain([
    // a client with a certificate is not asked for a token
    certificateUsers.authenticate,
    byToken([serviceAccountTokens(signer, store, now), bootstrapTokens(store, now)]),
  ])
  let url = ''
  const open = options.openPath?.({
    url: () => url,
    ca: () => trustedBy(credentials),
    identity: (commonName) =>
      issueCertificate(credentials.authority, {
        subject: { commonName },
        validity: { now: clock.now() - BEFORE_NOW_MS, days: OWN_DAYS },
        usage: 'client',
      }),
  })
  const { http, endConnections } = createHttpServer({
    parts,
    authenticate,
    tls: tlsOf(credentials),
    limits: {
      ...DEFAULT_LIMITS,
      held: withConnections(
        DEFAULT_LIMITS.held,
        connectionsWithin(DEFAULT_LIMITS.held.connections.all, descriptorLimit()),
      ),
      ...options.limits,
    },
    log,
    ...(open !== undefined && { open }),
  })
  const definitions = new DefinitionController(parts, log, converter.convert)
  await bootstrap(store, { now: clock.now(), uid: randomUUID, authority: trustedBy(credentials) })
  definitions.start()
  const loops = startLoops(parts, loopChoice, log)
  const failed = store.failed.then((e) => {
    log.error('storage failed; the server stops answering requests', { reason: messageOf(e) })
    http.close()
    endConnections()
    return e
  })
  const refusals = keepEnding(certificateUsers, clock, log)
  return {
    failed,
    async listen() {
      await new Promise<void>((resolve, reject) => {
        http.once('error', (e) =>
          reject(
            new KubeNodeError(apiserverErrors.KN1206_server({ host, port, why: messageOf(e) }), {
              cause: e,
            }),
          ),
        )
        http.listen(port, host, resolve)
      })
      url = `https://${host.includes(':') ? `[${host}]` : host}:${(http.address() as AddressInfo).port}`
    },
    async close() {
      refusals.cancel()
      open?.close()
      const closed = new Promise<void>((resolve) => http.close(() => resolve()))
      endConnections()
      await closed
      webhooks.close()
      converter.close()
      await loops.stop()
      await definitions.stop()
      await store.close()
    },
    get url() {
      return url
    },
    get ca() {
      return trustedBy(credentials)
    },
    get credentials() {
      return credentials
    },
    async replaceCredentials(next) {
      const gone = certificatesIn(trustedBy(credentials)).filter((old) => !trustedBy(next).includes(old.trim()))
      credentials = next
      signer.replaceKeys(next.tokenKey, next.otherTokenKeys)
      http.setSecureContext(tlsOf(next))
      await publishAuthority(store, trustedBy(next))
      // Connections keep what was verified at their start: clients come back, and their watches continue where they were.
      if (gone.length > 0) endConnections()
    },
    adminKubeconfig: () =>
      kubeconfigText({ url, authority: trustedBy(credentials), client: credentials.admin, user: 'admin' }),
  }
}

const tlsOf = (credentials: Credentials) => ({
  key: credentials.server.key,
  cert: credentials.server.certificate,
  ca: trustedBy(credentials),
})

/** Held in memory until the process exits, which may be years. */
const OWN_DAYS = 3_650
/** A clock that is set back must not put it in the future. */
const BEFORE_NOW_MS = 86_400_000

/** A watch with a revoked key, or an expired certificate, is closed within this time. Each check visits every open connection. */
const REFUSED_LIVE_MS = 5_000

function keepEnding(users: CertificateUsers, clock: Clock, log: Logger): { cancel(): void } {
  let timer = { cancel: (): void => undefined }
  const look = (): void => {
    const connections = users.endRefused()
    if (connections > 0) log.info('connections ended: their certificates no longer count', { connections })
    timer = clock.after(REFUSED_LIVE_MS, look)
  }
  timer = clock.after(REFUSED_LIVE_MS, look)
  return { cancel: () => timer.cancel() }
}
