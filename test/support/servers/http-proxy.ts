// An HTTP proxy that opens tunnels (CONNECT), as companies run them: it records where to, and may ask for a user and a password.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'

export interface HttpProxyServer {
  readonly port: number
  /** Host and port of each tunnel that was opened. */
  readonly opened: readonly string[]
  /** The value of Proxy-Authorization; without it every client gets a tunnel. */
  wants: string | undefined
  close(): Promise<void>
}

export async function startHttpProxy(): Promise<HttpProxyServer> {
  const opened: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((_, response) => response.writeHead(400).end())
  server.on('connect', (request, client: Socket) => {
    sockets.add(client)
    client.on('error', () => client.destroy())
    if (made.wants !== undefined && request.headers['proxy-authorization'] !== made.wants) {
      client.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="p"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
      )
      return
    }
    const { hostname, port } = new URL(`http://${request.url ?? ''}`)
    opened.push(request.url ?? '')
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client)
      client.pipe(upstream)
    })
    sockets.add(upstream)
    upstream.on('error', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const made: HttpProxyServer = {
    port: (server.address() as AddressInfo).port,
    opened,
    wants: undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return made
}
