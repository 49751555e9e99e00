// A real cluster, the image of this checkout in its containerd, and `kubenode` as people run it there.
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packFolder } from '#artifacts/authoring/pack.ts'
import { defined } from '#lib/defined.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { provideArtifacts } from '#programs/local/artifacts.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'
import { NODE_NAME, startCluster, type RealCluster } from '#test/support/servers/real/cluster.ts'
import { importLayout } from '#test/support/servers/real/node.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { Hosts } from './hosts.ts'
import type { Images } from './hub-programs.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64'
const NAME = 'kubenode.test/kubenode'
const ARTIFACTS_PORT = 30_844
const WITHIN_MS = 400_000

export interface Said {
  readonly code: number
  /** What it prints, without what it says beside that. */
  readonly out: string
  readonly text: string
}

export class Installation {
  readonly cluster: RealCluster
  readonly kubectl: Kubectl
  readonly hosts: Hosts
  readonly repository: GitFolder
  readonly #folder: string
  readonly #git: GitServer

  private constructor(cluster: RealCluster, folder: string, repository: GitFolder, git: GitServer) {
    this.cluster = cluster
    this.#folder = folder
    this.#git = git
    this.repository = repository
    this.kubectl = new Kubectl(cluster)
    this.hosts = new Hosts(join(folder, 'hosts'))
  }

  static async start(): Promise<Installation> {
    const folder = mkdtempSync(join(tmpdir(), 'kubenode-real-install-'))
    chmodSync(folder, 0o755)
    const cluster = await startCluster()
    const repository = new GitFolder()
    const now = Date.now()
    const authority = newAuthority('git', { now, days: 2 })
    const { outside } = cluster.host
    const subject = { commonName: 'git' }
    const pair = issueCertificate(authority, { subject, validity: { now, days: 2 }, usage: 'server', hosts: [outside] })
    const git = await startGitServer(repository.dir, pair, outside)
    git.answer = (header) => (header === undefined ? { kind: 'Refused', status: 401 } : { kind: 'Repository' })
    writeFileSync(join(folder, 'git-ca.pem'), authority.certificate)
    return new Installation(cluster, folder, repository, git)
  }

  get gitUrl(): string {
    return `https://${this.cluster.host.outside}:${this.#git.port}/${this.repository.dir.split('/').at(-1) ?? ''}/.git`
  }

  get gitCa(): string {
    return join(this.#folder, 'git-ca.pem')
  }

  /** A copy of the checkout that calls itself another version. */
  otherVersion(version: string): string {
    const checkout = join(this.#folder, `checkout-${version}`)
    mkdirSync(checkout)
    const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
    execFileSync('cp', ['--parents', '--no-dereference', '-t', checkout, ...files.trim().split('\n').filter(isThere)], {
      cwd: ROOT,
    })
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
    const file = join(checkout, 'package.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>
    writeFileSync(file, JSON.stringify({ ...manifest, version }, null, 2))
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], { cwd: checkout })
    git('init', '--quiet')
    git('add', 'package.json')
    git('commit', '--quiet', '--message', version)
    return checkout
  }

  /** Builds the image of a checkout, and brings it to the node, and to `others`. Its reference by digest. */
  async image(tag: string, checkout = ROOT, others: readonly Images[] = []): Promise<string> {
    const layout = join(this.#folder, `layout-${tag}`)
    const words = ['image', 'build', '--arch', ARCHITECTURE, '--name', `${NAME}:${tag}`, '--output', layout]
    const { code, text } = await this.run(checkout, ...words)
    if (code !== 0) throw new Error(text)
    const { digest } = JSON.parse(/\{.*\}/.exec(text)?.[0] ?? '{}') as { readonly digest: string }
    for (const { ctr, scratch } of [{ ctr: this.cluster.node.ctr, scratch: this.#folder }, ...others]) {
      importLayout(ctr, scratch, layout)
      ctr('images', 'tag', '--force', `${NAME}:${tag}`, `${NAME}@${digest}`)
    }
    return `${NAME}@${digest}`
  }

  /** What hosts download. */
  get served(): string {
    return join(this.#folder, 'served')
  }

  /** The settings of docs/operations/install.md, with artifacts of this repository on a volume of the node. */
  async values(image: string): Promise<string> {
    mkdirSync(this.served, { recursive: true })
    await provideArtifacts({ root: ROOT, artifacts: this.served, pack: packFolder, print: () => undefined })
    return this.valuesFor(image, { trust: join(this.served, 'trust.json') })
  }

  /** With what hosts download already in its folder. */
  valuesFor(
    image: string,
    { trust, joinScript, more = {} }: { readonly trust: string; readonly joinScript?: string; readonly more?: object },
  ): string {
    const { served } = this
    execFileSync('chmod', ['-R', 'a+rX', served])
    const file = join(this.#folder, 'values.yaml')
    const values = {
      cluster: 'hub',
      image,
      replicas: 2,
      apiServer: { url: this.cluster.url, ca: this.cluster.ca },
      artifacts: {
        source: { claim: 'artifacts' },
        exposure: 'NodePort',
        port: ARTIFACTS_PORT,
        address: `${this.cluster.host.address}:${ARTIFACTS_PORT}`,
        ...defined({ joinScript }),
      },
      trust: JSON.parse(readFileSync(trust, 'utf8')) as unknown,
      nodeSelector: { 'kubernetes.io/hostname': NODE_NAME },
      ...more,
    }
    writeFileSync(file, JSON.stringify(values))
    return file
  }

  /** Creates the volume of artifacts, as docs/operations/install.md says. */
  async volume(): Promise<void> {
    const space = { accessModes: ['ReadOnlyMany'], storageClassName: '' }
    const ours = { namespace: 'kubenode-system', name: 'artifacts' }
    await this.kubectl.run('create namespace kubenode-system')
    await this.#apply([
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'artifacts' },
        spec: {
          ...space,
          capacity: { storage: '1Gi' },
          hostPath: { path: this.served },
          claimRef: ours,
        },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: ours,
        spec: { ...space, resources: { requests: { storage: '1Gi' } } },
      },
    ])
  }

  /** `kubenode` of a checkout, with the kubeconfig of the administrator. */
  run(checkout: string, ...args: readonly string[]): Promise<Said> {
    return new Promise((resolve) => {
      const env = { ...process.env, KUBECONFIG: this.cluster.kubeconfig, DOCKER_CONFIG: this.#folder }
      const options = { env, timeout: WITHIN_MS, maxBuffer: 32 * 1024 * 1024 }
      execFile(join(checkout, 'bin/kubenode'), args, options, (error, out, err) =>
        resolve({ code: error === null ? 0 : 1, out, text: `${out}${err}` }),
      )
    })
  }

  async kubenode(...args: readonly string[]): Promise<string> {
    return this.from(ROOT, ...args)
  }

  /** The Secrets and the FleetSource of docs/operations/install.md, for one cluster that is hub and member. */
  async connectFleet(tracks: readonly object[]): Promise<void> {
    const { kubectl } = this
    const secret = 'create secret generic fleet-git -n kubenode-clusters --from-literal=username=fleet'
    await kubectl.ok(secret, ['--from-literal=password=token', `--from-file=ca.crt=${this.gitCa}`])
    const token = (await kubectl.ok('create token kubenode-sync -n kubenode-system --duration=8h')).trim()
    const { url, ca, folder } = this.cluster
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'own',
      clusters: [
        { name: 'own', cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
      ],
      users: [{ name: 'sync', user: { token } }],
      contexts: [{ name: 'own', context: { cluster: 'own', user: 'sync' } }],
    }
    const file = join(folder, 'own.kubeconfig')
    writeFileSync(file, JSON.stringify(kubeconfig))
    await kubectl.ok('create secret generic cluster-own -n kubenode-clusters', [`--from-file=kubeconfig=${file}`])
    const spec = {
      url: this.gitUrl,
      ref: { branch: 'main' },
      interval: '5s',
      verify: { mode: 'Off' },
      secretRef: { name: 'fleet-git' },
      tracks,
    }
    const metadata = { name: 'fleet', namespace: 'kubenode-system' }
    await this.#apply([{ apiVersion: 'kubenode.io/v1alpha1', kind: 'FleetSource', metadata, spec }])
  }

  /** A server under load answers kubectl's question for its definitions too late; the same may be applied again. */
  #apply(objects: readonly object[]): Promise<string> {
    return until('kubectl apply', () => this.kubectl.apply(objects), WITHIN_MS)
  }

  /** Names of all KubeNode objects, of every kind that can be listed. */
  async ours(): Promise<readonly string[]> {
    const kinds = (await this.kubectl.ok('api-resources --verbs=list -o name')).trim().split('\n')
    const left = kinds.filter((k) => !/^(events|leases|componentstatuses)\b/.test(k))
    const all = await this.kubectl.ok(`get ${left.join(',')} -A -o name --ignore-not-found`)
    return all.split('\n').filter((line) => line.includes('kubenode'))
  }

  /** Throws unless it succeeds. */
  async from(checkout: string, ...args: readonly string[]): Promise<string> {
    const { code, text } = await this.run(checkout, ...args)
    if (code !== 0) throw new Error(`kubenode ${args.join(' ')}:\n${text}`)
    return text
  }

  async stop(): Promise<void> {
    await this.hosts.stop()
    await this.cluster.stop()
    await this.#git.close()
    this.repository.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

const isThere = (file: string): boolean => file !== ''
