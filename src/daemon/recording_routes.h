/* The handlers behind /api/v1/recordings. Each runs in the roads seat and goes elsewhere for what
 * takes long. */
#ifndef SN_RECORDING_ROUTES_H
#define SN_RECORDING_ROUTES_H

struct sn_operation;
struct sn_rest_call;

/* The recording that the call's {id} names; NULL: the call has its problem. */
struct sn_operation *sn_recordings_find(struct sn_rest_call *call);

void sn_recordings_post(struct sn_rest_call *call);
void sn_recordings_list(struct sn_rest_call *call);
void sn_recordings_get(struct sn_rest_call *call);
void sn_recordings_patch(struct sn_rest_call *call);
void sn_recordings_delete(struct sn_rest_call *call);
void sn_download_get(struct sn_rest_call *call);
void sn_report_resource_get(struct sn_rest_call *call);
void sn_profile_resource_get(struct sn_rest_call *call);
void sn_timeline_resource_get(struct sn_rest_call *call);
void sn_upload_post(struct sn_rest_call *call); /* in the HTTP seat */

#endif
