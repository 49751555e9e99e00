// A port for a program that cannot be asked which one it took; another program may take it in between.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
