// A warning as the header that clients print.

/** Quoted text without control characters, in latin1 as headers are. */
export function warningHeader(text: string): string {
  const quoted = text.replace(/[\\"]/g, (c) => `\\${c}`)
  return `299 - "${quoted.replace(/[\n\r\t]/g, ' ').replace(/[^\u0020-\u007e\u0080-\u00ff]/g, '?')}"`
}
