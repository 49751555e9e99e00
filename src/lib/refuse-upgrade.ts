// For requests that expect one response: a protocol switch (101) is an error. Without a listener Node destroys the request and reports nothing, not even when
// its signal aborts later, and the caller would wait forever.
import type { ClientRequest } from 'node:http'

export function refuseUpgrade(
  request: ClientRequest,
  error: Error = new Error('the answer is a switch to another protocol'),
): void {
  request.once('upgrade', (_, socket) => {
    socket.destroy()
    request.emit('error', error)
  })
}
