// One signal for two reasons to stop. AbortSignal.any would do, but what it makes is held weakly by a source that lives as long as the process: thousands a
// second keep the garbage collector busy.

/** Aborts with the source, for its reason; until the answer is called. */
export function followSignal(controller: AbortController, source: AbortSignal | undefined): () => void {
  if (source === undefined) return () => undefined
  const onAbort = () => controller.abort(source.reason)
  if (source.aborted) onAbort()
  else source.addEventListener('abort', onAbort, { once: true })
  return () => source.removeEventListener('abort', onAbort)
}
