// The arguments of one benchmark: `name=number …`, `--name number`, `server=real`.
import { KubeNodeError } from '#lib/errors.ts'
import { benchErrors } from '../bench-errors.ts'
import type { BenchOptions, ServerKind } from '../result.ts'

export function parseOptions(args: readonly string[]): BenchOptions {
  const numbers: Record<string, number> = {}
  let server: ServerKind = 'embedded'
  for (const arg of joined(args)) {
    const [key = '', text = ''] = arg.split('=', 2)
    if (key === 'server' && (text === 'embedded' || text === 'real')) {
      server = text
      continue
    }
    const value = Number(text)
    if (!/^[a-z][a-z0-9_]*$/.test(key) || text === '' || !Number.isFinite(value))
      throw new KubeNodeError(benchErrors.KN9001_argument({ arg: JSON.stringify(arg) }))
    numbers[key] = value
  }
  return { numbers, server }
}

/** `--nodes 100` and `--nodes=100` are `nodes=100`. */
function joined(args: readonly string[]): readonly string[] {
  const out: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    const bare = arg.replace(/^--/, '')
    out.push(bare === arg || bare.includes('=') ? bare : `${bare}=${args[++i] ?? ''}`)
  }
  return out
}
