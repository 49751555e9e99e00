// A fleet that starts over: its nodes end and everything that its starts made goes. What a person put beside it stays.
import { existsSync, rmSync } from 'node:fs'
import { isKubeNodeError } from '#lib/errors.ts'
import type { Driver } from './driver.ts'
import { clusterFolders, madeBy, readState, type Layout } from './layout.ts'
import { stopNodes } from './stop-nodes.ts'

/**
 * Answers what is remembered of the fleet then: nothing. Our file in the folder stays until the next one takes its place, so a reset that was killed can be
 * repeated.
 */
export async function reset(layout: Layout): Promise<undefined> {
  // A folder with our file is ours, whatever version wrote it and wherever it was then; any other is refused.
  if (!existsSync(layout.state)) readState(layout)
  // An agent's own folder must not be deleted under it.
  const nodes = clusterFolders(layout).map((c) => layout.cluster(c).nodes)
  await stopNodes(nodes, driverIn(layout))
  for (const path of madeBy(layout)) rmSync(path, { recursive: true, force: true })
}

/** To reset is the advice of every message that refuses a data folder, so none of them may prevent it. */
function driverIn(layout: Layout): Driver {
  try {
    return readState(layout)?.driver ?? 'process'
  } catch (e) {
    if (isKubeNodeError(e)) return 'process'
    throw e
  }
}
