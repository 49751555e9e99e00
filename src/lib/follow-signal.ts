// Links an AbortController to a second signal. AbortSignal.any would do, but a process-long source keeps weak references to its results: thousands per second
// keep the garbage collector busy.

/** Aborts with the source and its reason, until the returned function is called. */
export function followSignal(controller: AbortController, source: AbortSignal | undefined): () => void {
  if (source === undefined) return () => undefined
  const onAbort = () => controller.abort(source.reason)
  if (source.aborted) onAbort()
  else source.addEventListener('abort', onAbort, { once: true })
  return () => source.removeEventListener('abort', onAbort)
}
