// A hub with control planes of which only etcd is real: what is written to the store comes from the test alone, with the certificate of an API server.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { coreKind } from '#kube/core-kinds.ts'
import { kubernetesHostWorld } from './kubernetes-host-world.ts'
import { writeFiles } from './pod-programs.ts'

const CLIENT_PORT = 2379
/** Of some thousand Secrets. */
const MOST_BYTES = 256 * 1024 * 1024
const ETCDCTL = [join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'etcdctl'), '/usr/bin/etcdctl', '/usr/local/bin/etcdctl']

/** Asks one member of a control plane. */
export async function etcdctlOf(
  { client, runner }: Pick<Awaited<ReturnType<typeof kubernetesHostWorld>>, 'client' | 'runner'>,
  namespace: string,
  folder: string,
) {
  const secret = await client.get(coreKind('Secret'), { namespace, name: 'apiserver-etcd' })
  const data = secret?.['data'] as Readonly<Record<string, string>>
  const files = join(folder, namespace)
  writeFiles(files, Object.fromEntries(Object.entries(data).map(([f, t]) => [f, Buffer.from(t, 'base64')])))
  const program = ETCDCTL.find((file) => existsSync(file)) ?? 'etcdctl'
  const flags = ['cacert=ca.crt', 'cert=tls.crt', 'key=tls.key'].map((f) => `--${f.replace('=', `=${files}/`)}`)
  return (member: number, words: readonly string[], input = ''): string => {
    const port = runner.portOf(namespace, `etcd-${member}`, CLIENT_PORT)
    const endpoint = `--endpoints=https://127.0.0.1:${port}`
    const options = {
      input,
      stdio: 'pipe',
      env: { ETCDCTL_API: '3' },
      encoding: 'utf8',
      maxBuffer: MOST_BYTES,
    } as const
    return execFileSync(program, [endpoint, '--command-timeout=30s', ...flags, ...words], options)
  }
}

export async function etcdHostWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-etcd-'))
  const idle = join(folder, 'idle')
  writeFileSync(idle, '#!/bin/sh\nexec sleep 3600\n', { mode: 0o755 })
  const world = await kubernetesHostWorld((program) => (program.startsWith('kube-') ? idle : undefined))
  return {
    ...world,
    etcdctl: (namespace: string) => etcdctlOf(world, namespace, folder),
    close: async () => {
      await world.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
