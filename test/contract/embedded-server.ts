// The embedded server for one test file, with the shortest way to ask it something over HTTPS.
import { createApiServer, type ApiServerOptions } from '#apiserver/api-server.ts'
import { Connection, textOf } from './recordings/target.ts'
import { defined } from '#lib/defined.ts'

export interface Answer {
  readonly code: number
  readonly body: Readonly<Record<string, unknown>> & { readonly metadata?: Readonly<Record<string, unknown>> }
  readonly warnings: readonly string[]
}

export interface EmbeddedServer {
  call(
    method: string,
    path: string,
    value?: unknown,
    more?: { readonly type?: string; readonly as?: string },
  ): Promise<Answer>
  close(): Promise<void>
}

export const MERGE = { type: 'application/merge-patch+json' } as const

export async function startEmbedded(loops: NonNullable<ApiServerOptions['loops']>): Promise<EmbeddedServer> {
  const server = await createApiServer({ loops })
  await server.listen()
  const { admin } = server.credentials
  const stop = () => server.close()
  const connection = new Connection({ url: server.url, ca: server.ca, cert: admin.certificate, key: admin.key, stop })
  return {
    async call(method, path, value, { type = 'application/json', as } = {}) {
      const body = value === undefined ? undefined : Buffer.from(JSON.stringify(value))
      const headers = {
        ...(body === undefined ? {} : { 'content-type': type, 'content-length': String(body.length) }),
        ...defined({ 'impersonate-user': as }),
      }
      const response = await connection.open({ method, path, headers, body, bare: false })
      const warnings = [response.headers['warning'] ?? []].flat()
      return { code: response.statusCode ?? 0, warnings, body: JSON.parse(await textOf(response)) as Answer['body'] }
    },
    async close() {
      connection.close()
      await stop()
    },
  }
}
