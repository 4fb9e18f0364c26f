/* What a request must hold to be sent: shared by the encoder and the strict decoder. */
#ifndef SN_IPC_MESSAGE_CHECK_H
#define SN_IPC_MESSAGE_CHECK_H

struct sn_ipc_request;
struct sonde_error;

/* SONDE_OK or SONDE_E_ARGUMENT with what is wrong. */
int sn_ipc_check_request(const struct sn_ipc_request *request, struct sonde_error *err);

#endif
