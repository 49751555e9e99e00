// Providers whose hosts are machines of their own: existing ones, always, and systemd machines of this host, where a folder for them is given.
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { AgentConfigText } from '#providers/config-file.ts'
import type { Provider } from '#providers/port.ts'

export interface MachineHostsConfig {
  /** Folder where the static provider notes who has which host; in memory when left out, and noted anew after a restart. */
  readonly staticNotes?: string
  /** Folders of systemd machines, and of the trees that they are made from. */
  readonly nspawn?: { readonly dir: string; readonly trees: string }
  readonly agentConfig?: AgentConfigText
  /** Node program and entry file of the agent. */
  readonly agent: readonly [node: string, entry: string]
}

/** Where machines see the program and the checkout of this host. */
const INSIDE = '/opt/kubenode'
const AGENT_DIR = '/var/lib/kubenode'

export async function machineHosts(
  config: MachineHostsConfig,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<readonly Provider[]> {
  const { StaticProvider, notesIn, notesInMemory } = await import('#providers/static/provider.ts')
  const notes = config.staticNotes === undefined ? notesInMemory() : await notesIn(config.staticNotes)
  const existing = new StaticProvider({ notes, clock })
  if (config.nspawn === undefined) return [existing]
  const [{ createNspawnProvider }, { ensureTree }] = await Promise.all([
    import('#providers/nspawn/provider.ts'),
    import('#providers/nspawn/tree.ts'),
  ])
  const { dir, trees } = config.nspawn
  const [node, entry] = config.agent
  const checkout = entry.slice(0, entry.lastIndexOf('/src/'))
  const inside = join(INSIDE, 'checkout')
  const systemd = await createNspawnProvider({
    dir,
    tree: await ensureTree({ cache: trees, log }),
    clock,
    log,
    agent: {
      exec: [join(INSIDE, 'node'), join(inside, entry.slice(checkout.length)), '--root', AGENT_DIR, '--host'],
      readOnly: [
        { from: node, to: join(INSIDE, 'node') },
        { from: checkout, to: inside },
      ],
    },
    ...(config.agentConfig === undefined ? {} : { agentConfig: config.agentConfig }),
  })
  return [existing, systemd]
}
