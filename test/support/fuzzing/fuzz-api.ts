// A server under fuzz: sends whatever it is given, byte by byte if need be, and says what no client may ever cause: an exception, an answer that is none, a 500 that is not on the list.
import { Agent, request as httpsRequest } from 'node:https'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { defined } from '#lib/defined.ts'
import { loggerTo } from '#lib/log.ts'

export interface Shot {
  readonly method: string
  readonly path: string
  readonly type?: string
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

interface Hit {
  readonly code: number
  readonly text: string
}

/** Where a real kube-apiserver 1.36 answers 500 to what is the client's mistake, so do we: the recordings show these. */
const RECORDED_500 = [
  /strconv\.ParseUint/,
  /failed to create typed patch object/,
  /field not declared in schema/,
  /resourceVersion should not be set on objects to be created/,
  /target\.name: Required value/,
  /unknown patch type: .* in map/,
  /map: .* does not contain declared merge key/,
]
/** The same step of the same request finds these, so they are answered in the same way. */
const KIN_500 = [
  /"expected a (map\[string\]|\[\])interface \{\}, but received a/,
  /cannot merge lists without merge key for/,
  /list element types are not identical/,
  /merging lists cannot yet be specified in the patch/,
  /failed to decode managed fields/,
]

export interface FuzzedServer {
  shoot(shot: Shot): Promise<Hit>
  /** What went wrong since the last call; empty when nothing did. */
  harm(): readonly string[]
  stop(): Promise<void>
}

export async function startFuzzed(): Promise<FuzzedServer> {
  const harms: string[] = []
  const log = loggerTo((level, message, fields) => {
    if (level === 'error') harms.push(`${message}: ${JSON.stringify(fields).slice(0, 1_500)}`)
  })
  const server: ApiServer = await createApiServer({ loops: 'none', log })
  await server.listen()
  const { admin } = server.credentials
  const agent = new Agent({ keepAlive: true, ca: server.ca, cert: admin.certificate, key: admin.key })
  const { hostname, port } = new URL(server.url)
  const unhandled = (e: unknown) =>
    void harms.push(`unhandled: ${e instanceof Error ? (e.stack ?? e.message) : String(e)}`)
  process.on('unhandledRejection', unhandled)
  return {
    async shoot(shot) {
      const hit = await send(agent, { hostname, port }, shot)
      const shown = `${shot.method} ${shot.path} was answered ${hit.code}: ${hit.text.slice(0, 600)}`
      if (hit.code === 500 && ![...RECORDED_500, ...KIN_500].some((r) => r.test(hit.text))) harms.push(shown)
      if (hit.code < 200 || hit.code > 599 || (hit.code > 500 && hit.code !== 504)) harms.push(shown)
      if (hit.code >= 400 && !/"kind": ?"Status"|^404 page not found/.test(hit.text)) harms.push(`no Status: ${shown}`)
      return hit
    },
    harm: () => harms.splice(0),
    async stop() {
      process.off('unhandledRejection', unhandled)
      agent.destroy()
      await server.close()
    },
  }
}

const WITHIN_MS = 60_000

function send(
  agent: Agent,
  at: { readonly hostname: string; readonly port: string },
  { method, path, type, body, headers = {} }: Shot,
): Promise<Hit> {
  const bytes = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(body)
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      {
        ...at,
        agent,
        method,
        path,
        timeout: WITHIN_MS,
        headers: {
          ...defined({ 'content-type': type }),
          ...(bytes === undefined ? {} : { 'content-length': bytes.length }),
          ...headers,
        },
      },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (d: Buffer) => parts.push(d))
        response.on('end', () =>
          resolve({ code: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }),
        )
        response.on('error', reject)
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} was not answered in ${WITHIN_MS} ms`)))
    sent.on('error', reject)
    sent.end(bytes)
  })
}
