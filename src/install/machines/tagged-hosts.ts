// Lists a cloud's hosts with a tag, using the caller's own keys. Returns the complete list or an error: a partial list would import only a part.
import { execPath } from 'node:process'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import type { TaggedHost } from '#providers/port.ts'
import { readProvidersFile } from '#providers/providers-file.ts'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import { userData } from '#agent/join/user-data.ts'

export interface TagOptions {
  readonly provider?: string
  readonly tag?: string
  readonly providers?: string
  /** Where the cloud's own tools find keys. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** For a large region. */
const READ_WITHIN_MS = 120_000

export async function taggedHosts(options: TagOptions): Promise<readonly TaggedHost[]> {
  const { name, value, provider: named, file } = checked(options)
  const all = readProvidersFile(file)
  const chosen = all.find((p) => p.name === named)
  const names = all.map((p) => p.name).join(', ')
  if (chosen === undefined) throw refused(`${file} has no provider ${JSON.stringify(named)}, but ${names}`)
  const provider = await chosen.create({
    clock: systemClock,
    log: silentLogger,
    node: execPath,
    entries: { agent: '', hollow: '' },
    env: options.env,
    userData,
  })
  if (provider.tagged === undefined) throw refused(`the hosts of ${named} have no tags`)
  return provider.tagged(name, value, AbortSignal.timeout(READ_WITHIN_MS))
}

interface Tag {
  readonly provider: string
  readonly file: string
  readonly name: string
  readonly value: string
}

function checked({ provider, tag, providers }: Omit<TagOptions, 'env'>): Tag {
  if (provider === undefined || tag === undefined || providers === undefined) throw refused('an option is missing')
  const at = tag.indexOf('=')
  if (at < 1) throw refused(`${JSON.stringify(tag)} is not KEY=VALUE`)
  return { provider, file: providers, name: tag.slice(0, at), value: tag.slice(at + 1) }
}

const refused = (why: string): KubeNodeError => new KubeNodeError(machinesErrors.KN1002_byTag({ why }))
