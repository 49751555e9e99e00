// Tests the provider that the user's options describe: its place, and the parameters of its hosts.
import { resolve } from 'node:path'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { runConformance } from './check-conformance.ts'
import type { RemotePlace } from './place.ts'
import { providerErrors } from './provider-errors.ts'

interface PlaceOptions {
  readonly socket?: string
  readonly url?: string
  readonly ca?: string
  readonly tokenFile?: string
}

export interface ConformanceAsked extends PlaceOptions {
  readonly params?: readonly string[]
  readonly timeout: string
  readonly output?: 'json'
}

export async function conformance(options: ConformanceAsked, io: Io): Promise<void> {
  const withinMs = durationMs(options.timeout) ?? 0
  if (withinMs <= 0) throw new KubeNodeError(providerErrors.KN1002_wait({ timeout: JSON.stringify(options.timeout) }))
  const params = Object.fromEntries((options.params ?? []).map(paramOf))
  const place = placeOf(options, io.cwd)
  const isJson = options.output === 'json'
  await runConformance({ place, params, withinMs, isJson, clock: systemClock, log: silentLogger }, io)
}

function paramOf(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new KubeNodeError(providerErrors.KN1002_parameter({ text: JSON.stringify(text) }))
  return [text.slice(0, at), text.slice(at + 1)]
}

function placeOf({ socket, url, ca, tokenFile }: PlaceOptions, cwd: string): RemotePlace {
  if (socket !== undefined && url === undefined) return { kind: 'Socket', path: resolve(cwd, socket) }
  if (socket !== undefined || url === undefined || ca === undefined || URL.parse(url)?.protocol !== 'https:')
    throw new KubeNodeError(providerErrors.KN1002_provider())
  const token = tokenFile === undefined ? {} : { tokenFile: resolve(cwd, tokenFile) }
  return { kind: 'Https', url, ca: resolve(cwd, ca), ...token }
}
