// A git server over HTTPS as people run them: `git http-backend` behind a check of the Authorization header. It records each header that it was shown.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import type { KeyAndCertificate } from '#lib/x509/certificates.ts'

type GitReply =
  | { readonly kind: 'Repository' }
  | { readonly kind: 'Refused'; readonly status: number; readonly text?: string }
  | { readonly kind: 'Redirect'; readonly to: string }
  /** An error in the protocol of git. */
  | { readonly kind: 'Failed'; readonly text: string }

export interface GitServer {
  readonly port: number
  /** Of each request, in order; undefined where it had none. */
  readonly authorizations: readonly (string | undefined)[]
  /** Decides on each request; at first everyone reads the repository. */
  answer: (authorization: string | undefined, path: string) => GitReply
  use(pair: KeyAndCertificate): void
  close(): Promise<void>
}

/** Its length in four hexadecimal digits, themselves counted. */
const packetLine = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text

const secureContext = ({ key, certificate }: KeyAndCertificate) => ({ key, cert: certificate })

/** Serves `folder` at its own path, so that a URL ends in `/<name of the folder>`. */
export async function startGitServer(
  folder: string,
  pair: KeyAndCertificate,
  address = '127.0.0.1',
): Promise<GitServer> {
  const authorizations: (string | undefined)[] = []
  const server = createServer(secureContext(pair), (request, response) => {
    const { authorization } = request.headers
    authorizations.push(authorization)
    const reply = made.answer(authorization, request.url ?? '')
    if (reply.kind === 'Repository') return serve(folder, request, response)
    if (reply.kind === 'Failed') {
      response.setHeader('content-type', 'application/x-git-upload-pack-advertisement')
      response.end(`${packetLine('# service=git-upload-pack\n')}0000${packetLine(`ERR ${reply.text}`)}`)
      return
    }
    const headers: Record<string, string> = reply.kind === 'Redirect' ? { location: reply.to } : {}
    if (reply.kind === 'Refused' && reply.status === 401) headers['www-authenticate'] = 'Basic realm="git"'
    const text = reply.kind === 'Refused' ? (reply.text ?? '') : ''
    response.writeHead(reply.kind === 'Redirect' ? 302 : reply.status, { 'content-type': 'text/plain', ...headers })
    response.end(text)
  })
  server.listen(0, address)
  await once(server, 'listening')
  const made: GitServer = {
    port: (server.address() as AddressInfo).port,
    authorizations,
    answer: () => ({ kind: 'Repository' }),
    use: (next) => server.setSecureContext(secureContext(next)),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return made
}

function serve(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://host')
  const { headers } = request
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'] ?? '',
      GIT_PROJECT_ROOT: dirname(folder),
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: pathname,
      QUERY_STRING: searchParams.toString(),
      CONTENT_TYPE: headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      ...(headers['git-protocol'] !== undefined && { GIT_PROTOCOL: String(headers['git-protocol']) }),
    },
  })
  request.pipe(child.stdin)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.once('close', () => {
    const whole = Buffer.concat(chunks)
    const end = whole.indexOf('\r\n\r\n')
    const lines = whole.subarray(0, end).toString('latin1').split('\r\n')
    const fields = lines.map((line) => /^([^:]+): ?(.*)$/.exec(line) ?? ['', '', ''])
    const status = Number(fields.find(([, name]) => name === 'Status')?.[2]?.slice(0, 3) ?? 200)
    for (const [, name = '', value = ''] of fields)
      if (name !== '' && name !== 'Status') response.setHeader(name, value)
    response.writeHead(status).end(whole.subarray(end + 4))
  })
}
