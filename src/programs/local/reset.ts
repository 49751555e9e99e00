// Starts a fleet over: stops its nodes and deletes everything that its starts created. A user's own files stay.
import { existsSync, rmSync } from 'node:fs'
import { isKubeNodeError } from '#lib/errors.ts'
import type { Driver } from './driver.ts'
import { clusterFolders, madeBy, readState, type Layout } from './layout.ts'
import { stopNodes } from './stop-nodes.ts'

/**
 * Returns the recorded state after a reset: none. The fleet's own file stays in the folder until the next one replaces it, so a killed reset can be repeated.
 */
export async function reset(layout: Layout): Promise<undefined> {
  // A folder with this file is a fleet's, whatever version wrote it and wherever it was then. Any other folder is refused.
  if (!existsSync(layout.state)) readState(layout)
  // An agent's folder must not be deleted while the agent runs.
  const nodes = clusterFolders(layout).map((c) => layout.cluster(c).nodes)
  await stopNodes(nodes, driverIn(layout))
  for (const path of madeBy(layout)) rmSync(path, { recursive: true, force: true })
}

/** Every message that refuses a data folder advises a reset, so none of those checks may block it. */
function driverIn(layout: Layout): Driver {
  try {
    return readState(layout)?.driver ?? 'process'
  } catch (e) {
    if (isKubeNodeError(e)) return 'process'
    throw e
  }
}
