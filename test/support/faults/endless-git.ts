// A git server over HTTPS whose answer to a fetch is a pack with one huge file: it declares 5 GB and sends them as fast as git reads.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ServerResponse } from 'node:http'
import type { KeyAndCertificate } from '#lib/x509/certificates.ts'

const DECLARED = 5 * 1024 ** 3
/** The largest block of deflate without compression. */
const BLOCK = 0xffff
/** The largest packet of a side band, without its length and the number of the band. */
const MOST = 65_000

export interface EndlessGit {
  readonly url: string
  readonly sent: () => number
  close(): Promise<void>
}

const packet = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
const line = (text: string): Buffer => packet(Buffer.from(text))
const inBand = (bytes: Buffer): Buffer => packet(Buffer.concat([Buffer.from([1]), bytes]))

/** Type blob, and the size in groups of seven bits after the first four. */
function entryHeader(size: number): Buffer {
  const bytes = [(3 << 4) | (size % 16)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest % 128)
  }
  return Buffer.from(bytes)
}

function packStart(): Buffer {
  const header = Buffer.alloc(12)
  header.write('PACK')
  header.writeUInt32BE(2, 4)
  header.writeUInt32BE(1, 8)
  return Buffer.concat([header, entryHeader(DECLARED), Buffer.from([0x78, 0x01])])
}

export async function startEndlessGit(pair: KeyAndCertificate): Promise<EndlessGit> {
  let sent = 0
  const head = 'a'.repeat(40)
  const server = createServer({ key: pair.key, cert: pair.certificate }, (request, response) => {
    request.resume()
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/x-git-upload-pack-advertisement')
      const refs = line(`${head} refs/heads/main\0side-band-64k ofs-delta\n`)
      return response.end(
        Buffer.concat([line('# service=git-upload-pack\n'), Buffer.from('0000'), refs, Buffer.from('0000')]),
      )
    }
    response.setHeader('content-type', 'application/x-git-upload-pack-result')
    response.write(Buffer.concat([line('NAK\n'), inBand(packStart())]))
    return pour(response)
  })
  const block = Buffer.alloc(5 + BLOCK)
  block.writeUInt16LE(BLOCK, 1)
  block.writeUInt16LE(~BLOCK & 0xffff, 3)
  const parts = Array.from({ length: Math.ceil(block.length / MOST) }, (_, n) =>
    inBand(block.subarray(n * MOST, (n + 1) * MOST)),
  )
  const whole = Buffer.concat(parts)
  const pour = (response: ServerResponse): void => {
    while (!response.destroyed && sent < DECLARED) {
      sent += BLOCK
      if (!response.write(whole)) {
        response.once('drain', () => pour(response))
        return
      }
    }
    response.end()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/fleet.git`,
    sent: () => sent,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
