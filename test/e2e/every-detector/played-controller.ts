// The management controller of all played hosts, as it answers over Redfish: each host asks under its own name, and learns whether its fan has stopped.
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { systemClock } from '#lib/system-clock.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'

const ROOT = '/redfish/v1'
const PASSWORD = 'read'

export class PlayedController {
  readonly broken = new Set<string>()
  #server: Server | undefined
  #ca = ''
  #port = 0

  async start(): Promise<void> {
    const validity = { now: systemClock.now(), days: 1 }
    const authority = newAuthority('authority', validity)
    const subject = { commonName: 'bmc' }
    const { key, certificate } = issueCertificate(authority, {
      subject,
      validity,
      usage: 'server',
      hosts: ['127.0.0.1'],
    })
    const server = createServer({ key, cert: certificate }, ({ url = '', headers }, response) => {
      const [user = ''] = Buffer.from((headers.authorization ?? '').slice('Basic '.length), 'base64')
        .toString()
        .split(':')
      const fan = { Name: 'Fan 3', Status: { Health: this.broken.has(user) ? 'Critical' : 'OK' } }
      const pages: Readonly<Record<string, unknown>> = {
        [`${ROOT}/Systems`]: { Members: [{ '@odata.id': `${ROOT}/Systems/1` }] },
        [`${ROOT}/Systems/1`]: { MemorySummary: { Status: { Health: 'OK' } } },
        [`${ROOT}/Chassis`]: { Members: [{ '@odata.id': `${ROOT}/Chassis/1` }] },
        [`${ROOT}/Chassis/1/Thermal`]: { Fans: [fan] },
      }
      response.writeHead(pages[url] === undefined ? 404 : 200).end(JSON.stringify(pages[url] ?? {}))
    })
    this.#server = server
    this.#ca = authority.certificate
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
  }

  /** The host's own file about it. */
  accessOf(host: string): string {
    return JSON.stringify({ address: `https://127.0.0.1:${this.#port}`, user: host, password: PASSWORD, ca: this.#ca })
  }

  close(): void {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }
}
