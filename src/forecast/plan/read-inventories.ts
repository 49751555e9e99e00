// Reads inventories from a user's or CI job's files: validates them and never changes them.
import { resolve } from 'node:path'
import { readBounded } from '#lib/bounded-file.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { MAX_JSON_DEPTH, isDeeperJson } from '#lib/json.ts'
import { type Inventory, readInventory } from '../inventory.ts'
import { planErrors } from './plan-errors.ts'

/** Ten thousand machines take about thirty MiB; parsing needs several times as much memory. */
const MAX_BYTES = 96 * 1024 * 1024

export function readInventories(files: readonly string[], cwd: string): readonly Inventory[] {
  const byCluster = new Map<string, { readonly file: string; readonly inventory: Inventory }>()
  for (const file of files) {
    const inventory = readOne(resolve(cwd, file), file)
    const { cluster } = inventory
    const known = byCluster.get(cluster)
    if (known !== undefined)
      throw new KubeNodeError(planErrors.KN1002_twoInventories({ cluster, first: known.file, second: file }))
    byCluster.set(cluster, { file, inventory })
  }
  return [...byCluster.values()].map((f) => f.inventory)
}

function readOne(path: string, file: string): Inventory {
  const wrong = (problem: string): KubeNodeError => new KubeNodeError(planErrors.KN1661({ file, problem }))
  let value: unknown
  try {
    const text = readBounded(path, MAX_BYTES)
    if (text.length === 0) throw new Error('it is empty')
    // Checked before parsing: each level would become an object.
    if (isDeeperJson(text, MAX_JSON_DEPTH)) throw new Error(`it is nested deeper than ${MAX_JSON_DEPTH} levels`)
    value = JSON.parse(text.toString('utf8'))
  } catch (error) {
    throw wrong(systemTrouble(error))
  }
  const read = readInventory(value)
  if ('problem' in read) throw wrong(read.problem)
  return read
}
