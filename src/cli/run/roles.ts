// Every role that `kubenode run` knows, and how its parts are put together.
import { join } from 'node:path'
import type { Provider } from '#providers/port.ts'
import type { Part } from '#runtime/manager.ts'
import type { Role, RoleContext } from './role.ts'

export const ROLE_NAMES = ['sync', 'controllers', 'defender'] as const
export type RoleName = (typeof ROLE_NAMES)[number]

export interface RolesConfig {
  readonly cluster: string
  /** How hosts reach this cluster's API server. */
  readonly server: string
  readonly ca: string
  /** Folder of the nodes of the process provider; without it there is none. */
  readonly nodes?: string
  readonly artifactBase: string
  /** The trust document that hosts start from. */
  readonly trust: string
  /** Node program and entry file of the agent. */
  readonly agent: readonly [node: string, entry: string]
}

async function processNodes(
  config: RolesConfig,
  context: RoleContext,
): Promise<{ provider: Provider; part: Part } | undefined> {
  if (config.nodes === undefined) return undefined
  const { createProcessProvider } = await import('#providers/process/provider.ts')
  const { clock, log } = context
  const [node, entry] = config.agent
  const provider = await createProcessProvider({
    dir: config.nodes,
    agent: ({ dir }) => [node, entry, '--root', dir],
    clock,
    log,
  })
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const part: Part = {
    name: 'process-provider',
    start: () => void (running = provider.run?.(stop.signal) ?? Promise.resolve()),
    stop: async () => {
      stop.abort()
      await running
    },
  }
  return { provider, part }
}

const controllersRole = (config: RolesConfig): Role => ({
  name: 'controllers',
  async setup(context) {
    const { CONTROLLERS } = await import('#controllers/controllers.ts')
    const host = await processNodes(config, context)
    const { informers, clock, random, log, metrics, supervision } = context
    const running = CONTROLLERS.map((module) =>
      module.setup({
        client: context.client,
        informers,
        clock,
        random,
        log,
        metrics,
        events: context.events(module.name),
        config: {
          cluster: config.cluster,
          providers: host === undefined ? {} : { [host.provider.name]: host.provider },
          join: {
            server: config.server,
            caData: Buffer.from(config.ca).toString('base64'),
            artifactBase: config.artifactBase,
            trustedKeys: config.trust,
          },
        },
      }),
    )
    return [
      ...(host === undefined ? [] : [host.part]),
      ...running.flatMap((m) => [...m.controllers.map((c) => supervision.controller(c)), ...(m.parts ?? [])]),
    ]
  },
})

export function roleNamed(name: RoleName, config: RolesConfig): Role {
  switch (name) {
    case 'controllers':
      return controllersRole(config)
    default:
      throw new Error(`no role ${name}`)
  }
}

/** Beside the checkout's own entry files. */
export const agentEntry = (root: string): string => join(root, 'src/cli/agent-main.ts')
