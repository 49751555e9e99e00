// Lets the FleetSource of a bench follow its repository over https, with a password of its own, from a git server as people run them.
import { basename } from 'node:path'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'
import { SECRET, type SyncBench } from './sync-bench.ts'

const by = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

/** A Secret where sync reads those of its sources. */
export const gitSecret = (name: string, data: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: CLUSTERS_NAMESPACE },
  data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
})

/** Sync needs `--git-allow localhost:PORT` to go there. */
export async function followOverHttps(bench: SyncBench, password: string): Promise<GitServer> {
  const authority = newAuthority('git', { now: Date.now(), days: 30 })
  const validity = { now: Date.now(), days: 2 }
  const hosts = ['localhost']
  const pair = issueCertificate(authority, { subject: { commonName: 'git' }, validity, usage: 'server', hosts })
  const git = await startGitServer(bench.repository.dir, pair)
  const basic = `Basic ${Buffer.from(`fleet:${password}`).toString('base64')}`
  git.answer = (authorization) => (authorization === basic ? { kind: 'Repository' } : { kind: 'Refused', status: 401 })
  const secret = gitSecret('git', { username: 'fleet', password, 'ca.crt': authority.certificate })
  await bench.hub.client.apply(SECRET, secret, by)
  const url = `https://localhost:${git.port}/${basename(bench.repository.dir)}/.git`
  await bench.hub.client.patch(
    fleetSource,
    { namespace: SYSTEM_NAMESPACE, name: 'fleet' },
    { type: 'merge', value: { spec: { url, secretRef: { name: 'git' } } } },
  )
  return git
}
