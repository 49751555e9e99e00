// The numbered errors of the embedded API server as a program.
import { errorTable } from '#lib/error-table.ts'

export const serverErrors = errorTable({
  KN1002_port: {
    text: 'cannot listen on port {text}: not a number from 0 to 65535',
    next: 'give one with --port',
  },
  KN1002_server: {
    text: 'cannot run control planes with one of --control-planes and --control-socket alone',
    next: 'give both: a folder, and the socket at which role cluster asks',
  },
  KN1002_webhookPlaces: {
    text: 'cannot allow webhooks of control planes at {text}: not an IP address with a port',
    next: 'give --webhook-allow places such as 127.0.0.1:9443 or [::1]:9443, joined by commas',
  },
  KN1002_noServer: {
    text: 'cannot start without a server of its own: no control planes are to run either',
    next: 'give --control-planes and --control-socket with --no-server',
  },
})
