// Reads inventories from files of a person, or of a job of CI: they are checked, and never changed.
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { MAX_JSON_DEPTH, isDeeperThan } from '#lib/json.ts'
import { type Inventory, readInventory } from '#forecast/inventory.ts'
import { planErrors } from './plan-errors.ts'

/** Ten thousand machines take about thirty. */
const MAX_BYTES = 256 * 1024 * 1024

export async function readInventories(files: readonly string[], cwd: string): Promise<readonly Inventory[]> {
  const byCluster = new Map<string, { readonly file: string; readonly inventory: Inventory }>()
  for (const file of files) {
    const inventory = await readOne(resolve(cwd, file), file)
    const { cluster } = inventory
    const known = byCluster.get(cluster)
    if (known !== undefined) throw new KubeNodeError(planErrors.KN1662({ cluster, first: known.file, second: file }))
    byCluster.set(cluster, { file, inventory })
  }
  return [...byCluster.values()].map((f) => f.inventory)
}

async function readOne(path: string, file: string): Promise<Inventory> {
  const wrong = (problem: string): KubeNodeError => new KubeNodeError(planErrors.KN1661({ file, problem }))
  let value: unknown
  try {
    const { size } = await stat(path)
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes (limit ${MAX_BYTES})`)
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw wrong(systemTrouble(error))
  }
  if (isDeeperThan(value, MAX_JSON_DEPTH)) throw wrong(`it is nested deeper than ${MAX_JSON_DEPTH} levels`)
  const read = readInventory(value)
  if ('problem' in read) throw wrong(read.problem)
  return read
}
