// An embedded server whose render Jobs a double of a kubelet really runs, and what a test asks of it.
import { join } from 'node:path'
import { programUser, RENDER_NAMESPACE } from '#api/names.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import { VERSION } from '#lib/program-version.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { JobRenderer, type JobRendererOptions } from '#sync/render/job/job-renderer.ts'
import { renderCommit, type RenderOptions, type Rendered } from '#sync/render/render.ts'
import type { Renderer } from '#sync/render/renderer.ts'
import { install } from '#programs/local/install.ts'
import { JobKubelet } from '#test/doubles/node/job-kubelet.ts'
import { startEmbedded } from '#test/support/servers/api-servers.ts'
import { until } from '#test/support/tools/processes.ts'

const ROOT = join(import.meta.dirname, '../../..')
const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'
const IMAGE = `registry.example.org/kubenode@sha256:${'a'.repeat(64)}`
const LEFT_MS = 10_000
const KINDS = [coreKind('Job'), coreKind('Pod'), coreKind('ConfigMap')]

const holding = (files: Readonly<Record<string, string>>): GitRepository => ({
  name: 'memory',
  resolve: async () => COMMIT,
  commit: async (id) => ({ id, parents: [], time: 1_700_000_000, message: '', author: '' }),
  log: async () => [],
  idAt: async () => COMMIT,
  readTree: async () => new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])),
})

/** A fleet of one target; `leak(value)` declares an object with it. */
export const fleetOf = (code: string): Readonly<Record<string, string>> => ({
  'fleet/main.ts': `import { App, ApiObject, Chart } from 'cdk8s'
const app = new App()
const chart = new Chart(app, 'test')
const leak = (v: unknown) => new ApiObject(chart, 'x', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' }, data: { v: String(v) } })
${code}
app.synth()
`,
})

export interface RenderJobWorld {
  readonly client: KubeClient
  /** As the user that sync is. */
  readonly sync: KubeClient
  readonly kubelet: JobKubelet
  /** What was logged at level info. */
  readonly said: object[]
  /** The name of the next run. */
  readonly nextRun: () => string
  renderer(more?: Partial<JobRendererOptions>): JobRenderer
  render(files: Readonly<Record<string, string>>, limits?: RenderOptions['limits'], by?: Renderer): Promise<Rendered>
  /** Everything that was rendered and printed, or the error. */
  outcome(files: Readonly<Record<string, string>>, limits?: RenderOptions['limits'], by?: Renderer): Promise<string>
  /** Kinds and names of all that is in the namespace. */
  left(): Promise<readonly string[]>
  /** Without faults, and once nothing is left. */
  reset(): Promise<void>
  close(): Promise<void>
}

export async function renderJobWorld(): Promise<RenderJobWorld> {
  let kubelet: JobKubelet | undefined
  const server = await startEmbedded({ podLog: async (pod) => kubelet?.log(pod) })
  const client = clientOf((await connectionOf(server.kubeconfig)).config, 'test')
  await install(client, join(ROOT, 'deploy'), systemClock)
  const { config } = await connectionOf(server.kubeconfig)
  // With its rights alone, and under the policies that are shipped.
  const sync = clientOf({ ...config, impersonate: { user: programUser('sync') } }, 'test')
  const program = [process.execPath, join(ROOT, 'src/cli/main.ts')]
  const double = new JobKubelet({ client, namespace: RENDER_NAMESPACE, program })
  kubelet = double
  double.start()
  const said: object[] = []
  const log = { ...silentLogger, info: (_: string, data?: object) => void said.push(data ?? {}) }
  let runs = 0
  const nextRun = () => `run${String(runs).padStart(13, '0')}`
  const world: RenderJobWorld = {
    client,
    sync,
    kubelet: double,
    said,
    nextRun,
    renderer: (more = {}) =>
      new JobRenderer({
        client: sync,
        clock: systemClock,
        log,
        image: IMAGE,
        version: VERSION,
        newRun: () => {
          const run = nextRun()
          runs++
          return run
        },
        ...more,
      }),
    render: (files, limits = {}, by = world.renderer()) =>
      renderCommit(COMMIT, { repository: holding(files), renderer: by, limits }),
    outcome: (...of) =>
      world.render(...of).then(
        ({ targets, printed }) => JSON.stringify([[...targets], printed]),
        (error: unknown) => String(error),
      ),
    left: async () => {
      const pages = await Promise.all(KINDS.map((kind) => client.list(kind, { namespace: RENDER_NAMESPACE })))
      return pages.flatMap((page, i) => page.items.map((o) => `${KINDS[i]?.kind} ${o.metadata.name}`))
    },
    reset: async () => {
      double.fate = () => undefined
      double.refusal = undefined
      double.keepLog = (whole) => whole
      said.length = 0
      if (double.failures.length > 0) throw new AggregateError(double.failures.splice(0), 'the double of a kubelet')
      await until('nothing is left', async () => ((await world.left()).length === 0 ? true : undefined), LEFT_MS)
    },
    close: async () => {
      await double.stop()
      await server.stop()
    },
  }
  return world
}
