// `kubenode console` as people start it, in a process of its own, for one cluster of a kubeconfig.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { ConnectionConfig } from '#kube/http/connection.ts'

const ROOT = resolve(import.meta.dirname, '../..')

export interface Served {
  readonly pid: number
  /** Opens the console once. */
  readonly link: string
  stop(): Promise<void>
}

export async function serveConsole(cluster: string, connection: ConnectionConfig): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bench-console-'))
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(cluster, connection)), { mode: 0o600 })
  const child = spawn(join(ROOT, 'bin/kubenode'), ['console', '--kubeconfig', kubeconfig], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  const ended = new Promise<number | null>((done) => child.once('exit', done))
  const link = await new Promise<string>((done, fail) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        printed += text.toString()
        const [found] = /http:\S+\/link\/\S+(?=\s)/.exec(printed) ?? []
        if (found !== undefined) done(found)
      })
    void ended.then((code) => fail(new Error(`the console ended with ${code}: ${printed}`)))
  })
  return {
    pid: child.pid ?? 0,
    link,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function kubeconfigOf(name: string, { server, ca, clientCertificate }: ConnectionConfig): object {
  const data = (source: { readonly data: string } | { readonly file: string } | undefined): string =>
    source !== undefined && 'data' in source ? Buffer.from(source.data).toString('base64') : ''
  const user = {
    'client-certificate-data': data(clientCertificate?.cert),
    'client-key-data': data(clientCertificate?.key),
  }
  return {
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': data(ca) } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }
}
