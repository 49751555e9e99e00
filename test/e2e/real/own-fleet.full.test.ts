// docs/tasks/own-fleet.md on a real cluster: `kubenode init`, `kubenode bootstrap` which installs and follows, the first node by a commit, and it runs what the fleet says.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { until } from '#test/support/tools/processes.ts'
import { Installation, type Said } from './installation.ts'

const PATIENCE_MS = 240_000
const CHAPTER_MS = 900_000
const why = whyNoCluster()

interface MachineSeen {
  readonly metadata: { readonly name: string }
  readonly status?: {
    readonly phase?: string
    readonly components?: readonly { readonly name: string; readonly version?: string; readonly state: string }[]
  }
}

describe('a fleet of one’s own on a real cluster', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  chapters()
  let world: Installation
  let folder: string
  let values: string
  let told: string

  const inFolder = (file: string, ...args: readonly string[]) =>
    execFileSync(file, args, { cwd: folder, encoding: 'utf8' })
  /** What git would commit, without the packed file of kubenode, which a render in the cluster does not use. */
  function push(message: string): string {
    const names = inFolder('git', 'ls-files', '-co', '--exclude-standard').trim().split('\n')
    const texts = names
      .filter((name) => !name.startsWith('vendor/'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const)
    return world.repository.commit(Object.fromEntries(texts), message)
  }
  const bootstrap = (...more: readonly string[]): Promise<Said> => {
    const git = ['--git', world.gitUrl, '--username', 'fleet', '--token-file', told, '--ca', world.gitCa]
    return world.run('.', 'bootstrap', ...git, '--values', values, '--yes', '--timeout', '6m', ...more)
  }

  beforeAll(async () => {
    if (why !== undefined) return
    world = await Installation.start()
    folder = join(world.served, '../own')
    const image = await world.image('now')
    told = join(world.served, '../token')
    writeFileSync(told, 'token\n')
    mkdirSync(world.served, { recursive: true })
    await world.kubenode('init', folder, '--cluster', 'hub', '--key', join(world.served, '../signing.pem'))
    await world.kubenode(
      'artifact',
      'pack',
      join(folder, 'fleet/components/hello/1.0.0'),
      '-f',
      join(world.served, 'hello-1.0.0.tar'),
    )
    values = world.valuesFor(image, { trust: join(folder, 'fleet/components/trust/trust.json') })
    push('fleet: start')
    await world.volume()
  }, CHAPTER_MS)
  afterAll(() => (world as Installation | undefined)?.stop(), 120_000)

  test(
    'a dry run shows what would be made, and makes nothing',
    async () => {
      const { code, text } = await bootstrap('--dry-run')
      expect(text).toMatch(/would apply FleetSource kubenode-system\/fleet/)
      expect(code).toBe(0)
      expect((await world.ours()).filter((name) => name.includes('deployment'))).toEqual([])
    },
    CHAPTER_MS,
  )

  test(
    'one command installs KubeNode and follows the repository; a second run changes nothing',
    async () => {
      const first = await bootstrap()
      expect(first.text).toMatch(/the cluster follows https:.*; commit [0-9a-f]{12} is applied/)
      expect(first.code).toBe(0)
      expect(await world.kubenode('check')).not.toMatch(/✗/)
      const again = await bootstrap()
      expect(again).toMatchObject({ code: 0, text: expect.stringContaining('is applied') as unknown })
    },
    CHAPTER_MS,
  )

  test(
    'a commit declares the first node; the host joins with the printed line and runs the component of the fleet',
    async () => {
      const file = join(folder, 'fleet/cluster.json')
      const before = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>
      writeFileSync(file, JSON.stringify({ ...before, nodes: 1 }))
      push('the first node')
      const machines = async () =>
        (await world.kubectl.json<{ readonly items: readonly MachineSeen[] }>('get machines.kubenode.io')).items
      const name = await until('a Machine', async () => (await machines())[0]?.metadata.name, PATIENCE_MS)
      const line = await until(
        'the line of the host',
        async () => {
          const { code, text } = await world.run('.', 'machine', 'join-command', name, '--offline')
          return code === 0 ? text : undefined
        },
        PATIENCE_MS,
      )
      world.hosts.start(name, line)
      const ran = await until(
        'the component runs',
        async () => {
          const [seen] = await machines()
          const [component] = seen?.status?.components ?? []
          return seen?.status?.phase === 'Ready' && component?.state === 'Healthy' ? component : undefined
        },
        PATIENCE_MS,
      )
      expect(ran).toMatchObject({ name: 'hello', version: '1.0.0' })
    },
    CHAPTER_MS,
  )
})
